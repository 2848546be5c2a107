//! The cell that answers a question.

use rayon::prelude::*;
use remanent_store::{Cell, Context, Stopped};
use remanent_theory::branches::branches;
use remanent_theory::parameters::{Choice, DomainError, Prior};
use remanent_theory::phase::phase_diagram;
use remanent_theory::scan::{ScanPoint, cases};
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;
use remanent_theory::tune::tune;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::query::Ask;
use super::{Answer, Constrained, Query};

/// A question as a cell.
#[derive(Clone, Copy, Debug)]
pub struct QueryCell<'a> {
    /// The question.
    pub query: &'a Query,
}

impl Cell for QueryCell<'_> {
    type Record = Answer;

    fn key(&self) -> Value {
        self.query.key()
    }

    /// The number of curves or points that are computed one by one.
    fn work(&self) -> u64 {
        let count = match &self.query.0 {
            Ask::Single { beta, .. } | Ask::PhaseDiagram { beta, .. } => beta.len(),
            Ask::Constrained { beta, q_star, .. } => beta.len() * q_star.len(),
            Ask::Chain { axes, .. } => axes.iter().map(|a| a.values.len()).product(),
            Ask::Branches { .. } | Ask::Tune { .. } => 1,
            Ask::Stationary(ask) => ask.work(),
            Ask::Broken(ask) => ask.work(),
            Ask::MonteCarlo(study) => return study.work(),
        };
        count as u64
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Stopped> {
        // Everything was checked when it was read, so no question fails.
        let failed = |error: DomainError| Stopped::failed(error);
        Ok(match &self.query.0 {
            Ask::Single { alpha, beta, prior, choice } => {
                let curves = piecewise(context, beta, 1, |beta| {
                    single(*beta, alpha, *prior, *choice).map_err(failed)
                })?;
                Answer::Single(curves.into_iter().flatten().collect())
            }
            Ask::Constrained { alpha, beta, q_star, prior, choice } => {
                let places: Vec<(f64, f64)> =
                    beta.iter().flat_map(|b| q_star.iter().map(|q| (*b, *q))).collect();
                let at = |&(beta, q_star): &(f64, f64)| {
                    let task = SingleTask::new(beta)?.with_prior(*prior).with_q_star(q_star)?;
                    Ok(Constrained { q_star, solution: task.solve(*alpha, *choice)? })
                };
                let solve = |place: &(f64, f64)| at(place).map_err(failed);
                Answer::Constrained(piecewise(context, &places, PIECE, solve)?)
            }
            Ask::Chain { parameters, axes } => {
                let cases = cases(parameters, axes).map_err(Stopped::failed)?;
                Answer::Chain(piecewise(context, &cases, PIECE, |(at, chain)| {
                    Ok(ScanPoint { at: at.clone(), chain: chain.solve() })
                })?)
            }
            Ask::Branches { beta, low, high, prior } => {
                let task = SingleTask::new(*beta).map_err(failed)?.with_prior(*prior);
                let found = branches(&task, *low, *high).map_err(failed)?;
                context.advance(1);
                Answer::Branches(Box::new(found))
            }
            Ask::PhaseDiagram { beta, prior } => {
                let done = || context.advance(1);
                Answer::PhaseDiagram(phase_diagram(beta, *prior, &done).map_err(failed)?)
            }
            Ask::Stationary(ask) => Answer::Stationary(ask.run(context)?),
            Ask::Tune { parameters, search } => {
                // How many points are tried between those of the grid is not known before.
                let tuned = tune(parameters, search, &|| ()).map_err(failed)?;
                context.advance(1);
                Answer::Tune(tuned)
            }
            Ask::Broken(ask) => Answer::Broken(ask.run(context)?),
            Ask::MonteCarlo(study) => Answer::MonteCarlo(study.run(context)?),
        })
    }
}

/// Points between two looks at the clock.
pub(super) const PIECE: usize = 64;

/// Solves the points of a list in parallel, a piece at a time, and saves a checkpoint after a piece when
/// one is due.
pub(super) fn piecewise<P: Sync, T>(
    context: &mut Context<'_>,
    points: &[P],
    piece: usize,
    solve: impl Fn(&P) -> Result<T, Stopped> + Sync,
) -> Result<Vec<T>, Stopped>
where
    T: Send + Serialize + DeserializeOwned,
{
    let mut solved: Vec<T> = context.load().unwrap_or_default();
    context.advance(solved.len() as u64);
    for piece in points[solved.len().min(points.len())..].chunks(piece) {
        if context.due() {
            context.save(&solved)?;
        }
        let advance = &*context;
        let answers = piece.par_iter().map(|point| {
            let answer = solve(point);
            advance.advance(1);
            answer
        });
        solved.extend(answers.collect::<Result<Vec<T>, Stopped>>()?);
    }
    Ok(solved)
}

fn single(
    beta: f64,
    alpha: &[f64],
    prior: Prior,
    choice: Option<Choice>,
) -> Result<Vec<Solution>, DomainError> {
    let task = SingleTask::new(beta)?.with_prior(prior);
    match choice {
        Some(choice) => task.scan(alpha, choice),
        None => Ok(task.scan_all(alpha)?.into_iter().flatten().collect()),
    }
}

#[cfg(test)]
mod tests {
    use remanent_theory::curve::Branch::{Good, Middle, Only, Poor};
    use remanent_theory::solution::Termination;

    use super::*;

    fn ask(text: &str) -> Answer {
        let query = Query::from_table(&text.parse().unwrap()).unwrap();
        let answer = QueryCell { query: &query }.run(&mut Context::detached()).unwrap();
        let text = serde_json::to_string(&answer).unwrap();
        let read: Answer = serde_json::from_str(&text).unwrap();
        // NaN is not equal to itself: answers are compared as text.
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        answer
    }

    #[test]
    fn all_solutions_of_one_task() {
        let answer = ask("ask = 'single'\nalpha = [1.0, 1.7]\nbeta = [10, 20]\nbranch = 'all'");
        let points = answer.as_single().unwrap();
        let found: Vec<_> = points.iter().map(|p| (p.beta, p.alpha, p.branch)).collect();
        assert_eq!(found[..2], [(10.0, 1.0, Only), (10.0, 1.7, Only)]);
        assert_eq!(
            found[2..],
            [(20.0, 1.0, Poor), (20.0, 1.7, Poor), (20.0, 1.7, Middle), (20.0, 1.7, Good)]
        );
        assert!((points[2].q_d - 0.911_750_615_6).abs() < 1e-9);
        assert!(points[2].is_converged() && points[2].quadrature_error < 1e-8);
        assert!(answer.as_constrained().is_none() && answer.as_tune().is_none());
    }

    #[test]
    fn a_branch_that_does_not_exist_is_a_row_without_numbers() {
        let answer = ask("ask = 'single'\nalpha = 1.0\nbranch = 'middle'");
        let point = &answer.as_single().unwrap()[0];
        assert!(point.eps.is_nan() && point.termination == Termination::NoSolution);
    }

    #[test]
    fn points_with_the_self_overlap_held() {
        let answer = ask("ask = 'constrained'\nalpha = 2\nbeta = [5, 20]\nq_star = [0.3, 0.6]");
        let points = answer.as_constrained().unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!((points[1].solution.beta, points[1].q_star), (5.0, 0.6));
        assert!((points[1].solution.q_d - 0.6).abs() < 1e-12);
    }

    #[test]
    fn a_scanned_chain() {
        let answer = ask("ask = 'chain'\nalpha = [2, 1]\nr0 = 0.5\ngamma = 0.1\n\
             scan = {'alpha.2' = [1, 2], r0 = [-0.5, 0.5]}");
        let points = answer.as_chain().unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!((points[1].scanned("alpha.2"), points[1].scanned("r0")), (Some(1.0), Some(0.5)));
        let last = points[3].chain.tasks.last().unwrap();
        assert_eq!((last.task, last.eps_by_task.len()), (2, 2));
        assert!(last.potential.is_finite() && last.solution.is_converged());

        let alone = ask("ask = 'chain'\nalpha = [2, 2]\nr0 = 0.5\ngamma = 0.1");
        let alone = alone.as_chain().unwrap();
        assert_eq!(alone[0].chain, points[3].chain);
        assert!(alone[0].at.is_empty());
    }

    #[test]
    fn all_solutions_with_steps() {
        for steps in [1, 2] {
            let text = format!("ask = 'single'\nalpha = 1.51\nbranch = 'all'\nrsb = '{steps}'");
            let answer = ask(&text);
            let rows = answer.as_broken().unwrap().as_single().unwrap();
            let found: Vec<_> = rows.iter().map(|row| (row.rsb, row.solution.branch)).collect();
            assert_eq!(found, [(steps, Poor), (steps, Middle), (0, Middle), (0, Good)]);
        }
    }

    #[test]
    fn a_broken_chain_over_two_parameters() {
        let answer = ask("ask = 'chain'\nalpha = [1, 1]\nr0 = 0.5\ngamma = 0.02\nrsb = '1'\n\
             scan = {'alpha.2' = [0.9, 1], r0 = [0, 0.5]}");
        let points = answer.as_broken().unwrap().as_chain().unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!((points[1].scanned("alpha.2"), points[1].scanned("r0")), (Some(0.9), Some(0.5)));
        assert!(points.iter().all(|point| point.rows().all(|row| row.rsb == 1)));
        let error = |i: usize| points[i].tasks[1].eps_by_task[1].unwrap();
        // More data lower the error.
        assert!(error(2) < error(0) && error(3) < error(1));
    }

    #[test]
    fn the_curve_with_two_steps() {
        let answer = ask("ask = 'branches'\nalpha = [0.5, 1.6]\nrsb = '2'");
        let found = answer.as_broken().unwrap().as_branches().unwrap();
        assert!(found.broken.rows.len() > 20 && found.broken.rows.iter().all(|row| row.rsb == 2));
        let [poor, good] = found.broken.crossing().unwrap();
        assert!((poor.solution.alpha - 1.517975).abs() < 2e-5, "{}", poor.solution.alpha);
        assert_eq!((poor.rsb, good.rsb), (2, 0));
    }

    #[test]
    fn landmarks_of_the_curve() {
        let answer = ask("ask = 'branches'\nalpha = [1.4, 2.0]");
        let found = answer.as_branches().unwrap();
        assert_eq!(found.folds.len(), 2);
        assert!((found.folds[0].alpha - 1.499).abs() < 1e-3 && found.folds[0].ends == Good);
        let crossing = found.crossing.as_ref().unwrap();
        assert!(crossing.poor.eps > crossing.good.eps && !crossing.replica_symmetry_holds);
        assert!(!found.replicon_zeros.is_empty() && found.corner.is_none());
        assert!(found.rows.iter().all(|row| (1.39..2.01).contains(&row.alpha)));
    }

    #[test]
    fn a_small_phase_diagram() {
        let answer = ask("ask = 'phase-diagram'\nbeta = [20, 10]");
        let diagram = answer.as_phase_diagram().unwrap();
        assert_eq!(diagram.rows[0].beta, 10.0);
        assert!(diagram.rows[0].good_from.is_none() && diagram.rows[1].good_from.is_some());
        assert!((10.0..20.0).contains(&diagram.critical_point.unwrap().beta));
    }

    #[test]
    fn the_best_gamma() {
        let answer = ask(
            "ask = 'tune'\nalpha = [1, 1]\nr0 = 0.5\ngamma = [0, 0.01, 0.1, 1, 10]\nobjective = 'max'",
        );
        let tuned = answer.as_tune().unwrap();
        assert!(tuned.curve.len() >= 5 && tuned.eps_by_task.len() == 2);
        let smallest = tuned.curve.iter().map(|p| p.objective).fold(1.0, f64::min);
        assert_eq!(tuned.objective, smallest);
    }

    #[test]
    fn the_work_is_what_is_computed_one_by_one() {
        for (text, work) in [
            ("ask = 'single'\nalpha = '0.1:3:0.1'\nbeta = [5, 10]", 2),
            ("ask = 'constrained'\nalpha = 1\nbeta = [5, 10]\nq_star = [0.1, 0.2, 0.3]", 6),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = 0", 1),
            ("ask = 'chain'\nalpha = [1, 1]\nr0 = 0\nscan = {r0 = [0, 1], alpha = [1, 2]}", 4),
            ("ask = 'phase-diagram'\nbeta = [5, 10]", 2),
            ("ask = 'branches'", 1),
            ("ask = 'monte-carlo'\ndraws = [100, 200]\nrepeats = 3", 6),
        ] {
            let query = Query::from_table(&text.parse().unwrap()).unwrap();
            assert_eq!(QueryCell { query: &query }.work(), work, "{text}");
        }
    }
}
