//! Figure B8: anchors that fade, a = artanh(λ tanh θ). What is remembered of a stream, and which λ is best.

mod picture;

use remanent_lab::simulation::{Against, Comparison, Learner};
use remanent_lab::theory::StreamPoint;
use serde::{Deserialize, Serialize};

use super::recommendation::{Recommendation, Tried};
use super::words::{agreement, error};
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::CLOSE;
use crate::verdict::{Agreement, Answer, Estimate, Findings, Pair};

/// Figure B8.
pub struct Fading;

/// Streams with fading anchors, in theory and simulated.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// The overlap of neighbouring teachers in the simulations.
    r0: f64,
    /// Stationary states of the theory; those of one r_0 by rising λ.
    stationary: Vec<Stationary>,
    /// Samples by rising λ, then SGD by rising λ.
    simulated: Vec<Simulation>,
}

/// The stationary state of an endless stream.
#[derive(Serialize, Deserialize)]
struct Stationary {
    r0: f64,
    lambda: f64,
    /// The error on the task ℓ steps back, from ℓ = 0 on.
    memory: Vec<Option<f64>>,
}

/// What a learner remembers after the last task.
#[derive(Serialize, Deserialize)]
struct Simulation {
    learner: By,
    lambda: f64,
    /// By ℓ: the error on the task ℓ steps back.
    back: Vec<Remembered>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    Sampling,
    Gradient,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    /// Trial by trial; the trials of all cases share their seeds.
    errors: Vec<f64>,
    /// The theory of the same chain of tasks.
    theory: Option<f64>,
}

/// Which error is to be low.
#[derive(Clone, Copy, PartialEq)]
enum Aim {
    Newest,
    LatestThree,
}

impl Aim {
    const ALL: [Self; 2] = [Self::Newest, Self::LatestThree];

    fn name(self) -> &'static str {
        match self {
            Self::Newest => "error on the newest task",
            Self::LatestThree => "mean error on the latest three tasks",
        }
    }

    /// How many tasks count.
    fn tasks(self) -> usize {
        match self {
            Self::Newest => 1,
            Self::LatestThree => 3,
        }
    }

    /// The mean over the tasks that count of errors by ℓ.
    fn of(self, back: &[f64]) -> Option<f64> {
        let counted = back.get(..self.tasks())?;
        Some(counted.iter().sum::<f64>() / counted.len() as f64)
    }
}

impl Stationary {
    fn new(point: &StreamPoint) -> Option<Self> {
        let at = |name: &str| Some(point.at.iter().find(|(key, _)| key == name)?.1);
        let finite = |eps: &f64| Some(*eps).filter(|eps| eps.is_finite());
        let memory = point.stream.memory.iter().map(finite).collect();
        Some(Self { r0: at("r0")?, lambda: at("lambda")?, memory })
    }

    /// λ and the error that counts.
    fn point(&self, aim: Aim) -> Option<(f64, f64)> {
        let known: Vec<f64> = self.memory.iter().map_while(|eps| *eps).collect();
        Some((self.lambda, aim.of(&known)?))
    }
}

impl Simulation {
    fn new(case: &Simulated) -> Option<Self> {
        let (learner, against) = match case.simulation.learner {
            Learner::Boltzmann(_) => (By::Sampling, Against::Ensemble),
            Learner::Gradient(_) => (By::Gradient, Against::Constrained),
        };
        let comparison = case.compared()?;
        let tasks = case.summary.ends.len();
        let remembered = |task: usize| {
            let quantity = format!("eps_{task}");
            let same =
                |c: &&Comparison| c.against == against && c.task == tasks && c.quantity == quantity;
            Some(Remembered {
                errors: case.final_errors(task - 1)?,
                theory: comparison.iter().find(same)?.theory,
            })
        };
        let back = (1..=tasks).rev().map(remembered).collect::<Option<_>>()?;
        Some(Self { learner, lambda: case.simulation.fading().lambda[0], back })
    }

    /// The error that counts, trial by trial.
    fn trials(&self, aim: Aim) -> Option<Vec<f64>> {
        let trials = self.back.first()?.errors.len();
        let of = |trial: usize| {
            let back: Option<Vec<f64>> =
                self.back.iter().map(|r| r.errors.get(trial).copied()).collect();
            aim.of(&back?)
        };
        (0..trials).map(of).collect()
    }
}

impl Measured {
    fn of(&self, learner: By) -> impl Iterator<Item = &Simulation> {
        self.simulated.iter().filter(move |simulation| simulation.learner == learner)
    }

    /// The theory's error against λ at one r_0.
    fn curve(&self, r0: f64, aim: Aim) -> Vec<(f64, f64)> {
        let there = self.stationary.iter().filter(|s| (s.r0 - r0).abs() < 1e-9);
        there.filter_map(|s| s.point(aim)).collect()
    }

    /// The λ at which the theory's error is lowest, and the error there.
    fn best(&self, r0: f64, aim: Aim) -> Option<(f64, f64)> {
        lowest(&self.curve(r0, aim))
    }

    /// All r_0 of the theory, each once.
    fn overlaps(&self) -> Vec<f64> {
        let mut overlaps: Vec<f64> = self.stationary.iter().map(|s| s.r0).collect();
        overlaps.sort_by(f64::total_cmp);
        overlaps.dedup();
        overlaps
    }

    /// The memory of a learner beside the theory's.
    fn memory(&self, learner: By) -> Answer {
        let (name, at) = match learner {
            By::Sampling => ("samples", ""),
            By::Gradient => ("SGD", " at its q_⋆"),
        };
        let remembered = self.of(learner).flat_map(|simulation| &simulation.back);
        let pairs = remembered.filter_map(|r| {
            let simulation = Estimate::of(r.errors.iter().copied())?;
            Some(Pair { simulation, theory: r.theory })
        });
        // All numbers are of the same trials.
        let compared = Agreement::new(format!("{name} and theory"), pairs.collect(), 1);
        let tests = [compared.close(CLOSE), compared.consistent()];
        let distance = compared.distance().map_or("unknown".into(), |d| d.text());
        let lambdas: Vec<String> = self.of(learner).map(|s| s.lambda.to_string()).collect();
        Answer::new(
            format!("Does the theory{at} predict the memory of {name} with anchors that fade?"),
            format!(
                "Over all tasks of the stream and λ = {} the theory{at} is {distance} from {name} (root mean square): {}.",
                lambdas.join(", "),
                agreement(&tests)
            ),
        )
        .tested(tests)
    }

    /// The recommended λ beside the one that samples find best.
    fn recommended(&self, aim: Aim) -> Answer {
        let best = self.best(self.r0, aim);
        let recommendation = Recommendation {
            symbol: "λ",
            aim: aim.name(),
            value: best.map(|best| best.0),
            error: best.map(|best| best.1),
            // All λ from 0 to 1 are compared.
            at_edge: false,
        };
        let tried: Option<Vec<Tried>> = self
            .of(By::Sampling)
            .map(|s| Some(Tried { value: s.lambda, errors: s.trials(aim)? }))
            .collect();
        recommendation.answer(&tried.unwrap_or_default(), |a, b| (a - b).abs())
    }

    /// How the best λ follows r_0.
    fn trend(&self) -> Answer {
        let said: Vec<String> = Aim::ALL
            .into_iter()
            .map(|aim| {
                let places: Vec<String> = self
                    .overlaps()
                    .into_iter()
                    .filter_map(|r0| Some(format!("{:.2} at r_0 = {r0:.1}", self.best(r0, aim)?.0)))
                    .collect();
                format!("for the {} {}", aim.name(), places.join(", "))
            })
            .collect();
        Answer::new(
            "How does the best fading depend on the overlap r_0 of neighbouring teachers?",
            format!("In theory the best λ is, {}.", said.join("; ")),
        )
    }
}

/// The lowest point of a curve, by the parabola through it and its neighbours; a point at an end is taken as it
/// is.
fn lowest(curve: &[(f64, f64)]) -> Option<(f64, f64)> {
    let lowest = (0..curve.len()).min_by(|&a, &b| curve[a].1.total_cmp(&curve[b].1))?;
    let middle = curve[lowest];
    let (Some(left), Some(right)) =
        (lowest.checked_sub(1).map(|i| curve[i]), curve.get(lowest + 1).copied())
    else {
        return Some(middle);
    };
    let (a, b) = (middle.0 - left.0, right.0 - middle.0);
    let (rise, fall) = ((right.1 - middle.1) / b, (middle.1 - left.1) / a);
    let curvature = (rise - fall) / (a + b);
    let slope = fall + curvature * a;
    if curvature <= 0.0 {
        return Some(middle);
    }
    let step = -0.5 * slope / curvature;
    Some((middle.0 + step, middle.1 + 0.5 * slope * step))
}

impl Study for Fading {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let stationary = results.theory.first()?.as_stationary()?;
        let mut simulated =
            results.simulated.iter().map(Simulation::new).collect::<Option<Vec<_>>>()?;
        simulated.sort_by(|a, b| {
            (a.learner == By::Gradient)
                .cmp(&(b.learner == By::Gradient))
                .then(a.lambda.total_cmp(&b.lambda))
        });
        Some(Measured {
            r0: *results.simulated.first()?.simulation.setting.r_0.first()?,
            stationary: stationary.iter().map(Stationary::new).collect::<Option<_>>()?,
            simulated,
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let mut answers = vec![measured.memory(By::Sampling), measured.memory(By::Gradient)];
        answers.extend(Aim::ALL.map(|aim| measured.recommended(aim)));
        let found: Vec<&str> = answers.iter().map(|answer| answer.answer.as_str()).collect();
        let found = found.join(" ");
        answers.push(measured.trend());
        let best = measured.best(measured.r0, Aim::Newest);
        let kept = measured.curve(measured.r0, Aim::Newest).last().copied();
        let gain = best.zip(kept).map(|(best, kept)| {
            format!(
                "At r_0 = {} fading with λ = {:.2} instead of 1 lowers the error on the newest task of an endless stream from {} to {} \
                 in theory.",
                measured.r0, best.0, error(kept.1), error(best.1)
            )
        });
        Judgement {
            found,
            findings: Findings::Answers(answers),
            notes: gain
                .into_iter()
                .chain([
                    "Lines beside simulations: the theory of the same tasks; for SGD with q_d held at the q_⋆ that it has at the end of \
                     each task. Errors against λ and the best λ: the stationary state of an endless stream."
                        .to_owned(),
                    "All errors of a learner come from the same trials and count as one experiment.".to_owned(),
                ])
                .collect(),
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        Some(picture::draw(&Self::measure(results)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};

    /// Samples at three λ that differ by so much from the theory, of which the middle one is best.
    fn measured(difference: f64, noise: f64) -> Measured {
        let memory = |lambda: f64| {
            let newest = 0.2 + (lambda - 0.7) * (lambda - 0.7);
            vec![newest, newest + 0.05, newest + 0.1]
        };
        let simulation = |learner, lambda: f64| Simulation {
            learner,
            lambda,
            back: memory(lambda)
                .into_iter()
                .map(|theory| Remembered {
                    errors: (0..6)
                        .map(|trial| theory + difference + noise * (f64::from(trial) - 2.5))
                        .collect(),
                    theory: Some(theory),
                })
                .collect(),
        };
        let stationary = |i: i32| {
            let lambda = 0.1 * f64::from(i);
            Stationary { r0: 0.6, lambda, memory: memory(lambda).into_iter().map(Some).collect() }
        };
        Measured {
            r0: 0.6,
            stationary: (0..=10).map(stationary).collect(),
            simulated: [0.4, 0.7, 1.0]
                .map(|lambda| simulation(By::Sampling, lambda))
                .into_iter()
                .chain([simulation(By::Gradient, 0.7)])
                .collect(),
        }
    }

    fn judge(measured: &Measured) -> Vec<Answer> {
        match Fading::judge(measured).findings {
            Findings::Answers(answers) => answers,
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn outcomes(answer: &Answer) -> Vec<Outcome> {
        answer.tests.iter().map(|test| test.outcome).collect()
    }

    #[test]
    fn the_memory_can_agree_differ_and_be_open() {
        let near = judge(&measured(0.0005, 0.001));
        assert_eq!(outcomes(&near[0]), [Supported, Supported]);
        assert_eq!(outcomes(&near[1]), [Supported, Supported]);
        let far = judge(&measured(0.1, 0.001));
        assert_eq!(outcomes(&far[0]), [Contradicted, Contradicted]);
        assert_eq!(outcomes(&judge(&measured(0.02, 0.02))[0])[0], Undecided);
    }

    #[test]
    fn a_recommended_lambda_is_tested_by_samples() {
        let good = judge(&measured(0.0, 0.001));
        assert!(good[2].answer.contains("recommends λ = 0.700"), "{}", good[2].answer);
        assert!(good[2].answer.contains("the best of the simulated"), "{}", good[2].answer);
        let mut other = measured(0.0, 0.001);
        // Samples that are best where nothing fades.
        for remembered in &mut other.simulated[2].back {
            remembered.errors.iter_mut().for_each(|eps| *eps = 0.01);
        }
        assert_eq!(outcomes(&judge(&other)[2]), [Contradicted, Supported]);
    }

    #[test]
    fn the_trend_names_every_overlap_once() {
        let mut measured = measured(0.0, 0.001);
        let other = measured.stationary.iter().map(|s| Stationary {
            r0: 0.2,
            memory: s.memory.clone(),
            ..*s
        });
        let other: Vec<Stationary> = other.collect();
        measured.stationary.splice(3..3, other);
        assert_eq!(measured.overlaps(), [0.2, 0.6]);
        let trend = measured.trend().answer;
        assert_eq!(trend.matches("0.70 at r_0 = 0.2").count(), 2, "{trend}");
    }

    #[test]
    fn the_lowest_point_of_a_parabola_is_exact() {
        let curve: Vec<(f64, f64)> =
            [0.0, 0.1, 0.25, 0.4].map(|x: f64| (x, 1.0 + (x - 0.17) * (x - 0.17))).to_vec();
        let (place, value) = lowest(&curve).unwrap();
        assert!((place - 0.17).abs() < 1e-12 && (value - 1.0).abs() < 1e-12, "{place} {value}");
        assert_eq!(lowest(&[(0.0, 1.0), (1.0, 2.0)]), Some((0.0, 1.0)));
        assert_eq!(lowest(&[]), None);
    }
}
