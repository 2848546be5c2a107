//! One draw of the disorder: teachers, and the patterns they label.
//!
//! The first teacher is random; each later one is its predecessor with every
//! weight flipped with probability (1 − r_0)/2. Patterns are random; a task's
//! teacher labels its patterns.
//!
//! # Ties
//!
//! The teacher's field F = Σ W x takes every second integer value. For even N it vanishes for a
//! fraction √(2/πN) of the patterns (2.5 % at N = 1000), which have no label. (The published scripts
//! give them the label 0, which drops them.) The theory has averages ∫ f over F > 0. If a tie gets a
//! random label, the lattice F = 0, 2, 4, … is the trapezoid rule for these, with the error
//! −f'(0) h²/12 (Euler–Maclaurin) and the spacing h ~ 2/√(N(1 − q_d)), which is not small where q_d
//! is close to 1: at α = 2, β = 20 and N = 1000 it moves q_d by −0.002, four standard errors of 32
//! draws. Moving a fraction λ of the ties from F = 0 to F = 2 adds +λ f'(0) h²/2 for every f. So one
//! tie in six has one of its inputs flipped, which cancels the leading lattice correction; the other
//! ties get the label +1. For odd N there are no ties, and the correction is half as large.

use remanent_math::philox::Stream;

use crate::parameters::{ParameterError, Setting};
use crate::patterns::{Patterns, padded};
use crate::randomness::{Purpose, Trial};

/// Teachers and data of one trial.
#[derive(Clone, Debug)]
pub struct World {
    /// N.
    sites: usize,
    /// The teachers' weights ±1, padded with zeros.
    teachers: Vec<Vec<f32>>,
    /// The training patterns of each task, multiplied by their labels.
    tasks: Vec<Patterns>,
    /// Patterns for measuring the error, not used in training; may be empty.
    fresh: Vec<Patterns>,
    /// Sites where all teachers agree.
    common: Vec<usize>,
}

impl World {
    /// Draws teachers and data.
    pub fn draw(setting: &Setting, trial: Trial) -> Result<Self, ParameterError> {
        let counts = setting.patterns()?;
        let sites = setting.n;
        let mut teachers = vec![first_teacher(sites, trial)];
        for task in 1..counts.len() {
            teachers.push(next_teacher(&teachers[task - 1], setting.r_0_before(task), task, trial));
        }
        let labelled = |purpose, ties, task: usize, count| {
            let patterns = random_patterns(count, sites, purpose, task, trial);
            label(patterns, &teachers[task], trial.stream(ties, task, 0))
        };
        let tasks = counts
            .iter()
            .enumerate()
            .map(|(task, &count)| labelled(Purpose::Patterns, Purpose::Ties, task, count))
            .collect();
        let fresh = match setting.fresh_patterns {
            0 => Vec::new(),
            count => (0..counts.len())
                .map(|task| labelled(Purpose::FreshPatterns, Purpose::FreshTies, task, count))
                .collect(),
        };
        let common =
            (0..sites).filter(|&i| teachers.iter().all(|w| w[i] == teachers[0][i])).collect();
        Ok(Self { sites, teachers, tasks, fresh, common })
    }

    /// N.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// The number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The training patterns of a task, multiplied by their labels.
    ///
    /// # Panics
    ///
    /// If there is no such task.
    pub fn patterns(&self, task: usize) -> &Patterns {
        &self.tasks[task]
    }

    /// The fresh patterns of a task, multiplied by their labels.
    pub fn fresh_patterns(&self, task: usize) -> Option<&Patterns> {
        self.fresh.get(task)
    }

    /// The teacher's weights ±1.
    ///
    /// # Panics
    ///
    /// If there is no such task.
    pub fn teacher(&self, task: usize) -> &[f32] {
        &self.teachers[task][..self.sites]
    }

    /// The sites at which all teachers agree.
    pub fn common(&self) -> &[usize] {
        &self.common
    }
}

fn pad(mut weights: Vec<f32>) -> Vec<f32> {
    weights.resize(padded(weights.len()), 0.0);
    weights
}

fn first_teacher(sites: usize, trial: Trial) -> Vec<f32> {
    let stream = trial.stream(Purpose::Teacher, 0, 0);
    let sign = |i| if stream.uniform(i as u32) < 0.5 { -1.0 } else { 1.0 };
    pad((0..sites).map(sign).collect())
}

fn next_teacher(previous: &[f32], r_0: f64, task: usize, trial: Trial) -> Vec<f32> {
    let stream = trial.stream(Purpose::Teacher, task, 0);
    let flips = |i| stream.uniform(i as u32) < (1.0 - r_0) / 2.0;
    previous.iter().enumerate().map(|(i, &w)| if flips(i) { -w } else { w }).collect()
}

/// Unlabelled patterns.
fn random_patterns(
    count: usize,
    sites: usize,
    purpose: Purpose,
    task: usize,
    trial: Trial,
) -> Patterns {
    Patterns::random(count, sites, |pattern, k| trial.stream(purpose, task, pattern).bits(k as u32))
}

/// The fraction of ties that are broken by flipping an input; see the module documentation.
const BROKEN_TIES: f64 = 1.0 / 6.0;

/// Multiplies each pattern by the label that the teacher gives it.
fn label(patterns: Patterns, teacher: &[f32], ties: Stream) -> Patterns {
    let all: Vec<u32> = (0..patterns.len() as u32).collect();
    let mut fields = vec![0.0; patterns.len()];
    patterns.fields(&all, teacher, &mut fields);
    let mut labelled = patterns.negate_where(|pattern| fields[pattern] < 0.0);
    for pattern in (0..labelled.len()).filter(|&pattern| fields[pattern] == 0.0) {
        if ties.uniform(2 * pattern as u32) < BROKEN_TIES {
            let wrong: Vec<usize> = (0..labelled.sites())
                .filter(|&site| labelled.sign(pattern, site) != teacher[site])
                .collect();
            let pick = ties.uniform(2 * pattern as u32 + 1) * wrong.len() as f64;
            labelled.flip(pattern, wrong[pick as usize]);
        }
    }
    labelled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(n: usize, alpha: &[f64], r_0: f64) -> Setting {
        Setting { n, alpha: alpha.to_vec(), r_0: vec![r_0], fresh_patterns: 0 }
    }

    #[test]
    fn labels_are_the_teachers() {
        let world = World::draw(&setting(301, &[1.0, 0.5], 0.3), Trial { seed: 1, trial: 2 });
        let world = world.unwrap();
        for task in 0..2 {
            for pattern in 0..world.patterns(task).len() {
                let field: f32 = (0..301)
                    .map(|i| world.patterns(task).sign(pattern, i) * world.teacher(task)[i])
                    .sum();
                assert!(field > 0.0);
            }
        }
    }

    #[test]
    fn teachers_overlap_as_asked_for() {
        for r_0 in [-1.0, -0.5, 0.0, 0.7, 1.0] {
            let setting = setting(40_000, &[1e-4; 3], r_0);
            let world = World::draw(&setting, Trial { seed: 5, trial: 0 }).unwrap();
            for task in 1..3 {
                let overlap: f32 = (0..40_000)
                    .map(|i| world.teacher(task)[i] * world.teacher(task - 1)[i])
                    .sum::<f32>()
                    / 40_000.0;
                assert!((f64::from(overlap) - r_0).abs() <= 0.02 * (1.0 - r_0 * r_0), "{r_0}");
            }
        }
    }

    #[test]
    fn a_task_does_not_depend_on_those_after_it() {
        let trial = Trial { seed: 5, trial: 3 };
        let long = World::draw(&setting(70, &[1.0, 2.0, 1.0], 0.2), trial).unwrap();
        let short = World::draw(&setting(70, &[1.0, 2.0], 0.2), trial).unwrap();
        assert_eq!(long.patterns(1), short.patterns(1));
        assert_eq!(long.teacher(1), short.teacher(1));
    }

    #[test]
    fn signs_are_fair_and_independent_of_the_teacher() {
        let world = World::draw(&setting(500, &[4.0], 0.0), Trial { seed: 8, trial: 0 }).unwrap();
        let patterns = world.patterns(0);
        let (mut total, mut neighbours) = (0.0, 0.0);
        for pattern in 0..2000 {
            for site in 0..499 {
                total += f64::from(patterns.sign(pattern, site));
                neighbours +=
                    f64::from(patterns.sign(pattern, site) * patterns.sign(pattern, site + 1));
            }
        }
        // A sum of a million signs has a standard deviation of 1000.
        assert!(f64::abs(total) < 4000.0 && f64::abs(neighbours) < 4000.0, "{total} {neighbours}");
    }

    #[test]
    fn one_tie_in_six_is_broken() {
        let n = 100;
        let world = World::draw(&setting(n, &[400.0], 0.0), Trial { seed: 3, trial: 0 }).unwrap();
        let patterns = world.patterns(0);
        let mut counts = [0.0; 3];
        for pattern in 0..patterns.len() {
            let field: f32 = (0..n).map(|i| patterns.sign(pattern, i) * world.teacher(0)[i]).sum();
            if let Some(count) = counts.get_mut((field / 2.0) as usize) {
                *count += 1.0;
            }
        }
        // Binomial: P(F = 0) = 0.0795892, P(|F| = 2) = 0.1560574.
        let total = patterns.len() as f64;
        let expected = [0.0795892 * 5.0 / 6.0, 0.1560574 + 0.0795892 / 6.0];
        for (count, expected) in counts.iter().zip(expected) {
            let deviation = (total * expected).sqrt();
            assert!(f64::abs(count - total * expected) < 4.0 * deviation, "{counts:?}");
        }
    }
}
