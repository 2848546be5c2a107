//! Figure 3a: the order parameters of one task, and why the published ones differ.

mod picture;

use remanent_lab::theory::known;
use remanent_lab::theory::monte_carlo::MonteCarlo;
use serde::{Deserialize, Serialize};

use super::one_step;
use super::solutions::{self, is_stable};
use super::words::error;
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::thresholds::{CLOSE, JUMP};
use crate::verdict::{Claim, Estimate, Findings, Test};

/// Figure 3a.
pub struct OrderParameters;

/// The theory of one task.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    beta: f64,
    /// The stable solution at the largest α.
    end: End,
    /// Where two solutions exchange stability, if they do.
    crossing: Option<Crossing>,
    /// What ε loses there.
    jump: Option<f64>,
    /// The same with one step of replica-symmetry breaking on the poor branch.
    one_step: OneStep,
    /// The published estimator at the exact solution.
    estimator: MonteCarlo,
}

#[derive(Serialize, Deserialize)]
struct End {
    alpha: f64,
    one_minus_q_d: Option<f64>,
    one_minus_r: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Crossing {
    alpha: f64,
    /// r of the poor and of the good solution.
    r: [Option<f64>; 2],
}

/// What one step of replica-symmetry breaking changes.
#[derive(Serialize, Deserialize)]
struct OneStep {
    /// α from which on replica symmetry is broken.
    onset: Option<f64>,
    /// Where the poor solution with one step and the good one exchange stability, if they do.
    crossing: Option<Crossing>,
    /// What ε loses there.
    jump: Option<f64>,
}

impl Measured {
    fn transition(&self) -> String {
        let beta = self.beta;
        let Some(Crossing { alpha, r: [poor, good] }) = &self.crossing else {
            return format!("at β = {beta} there is one solution for every α");
        };
        let said = |r: &Option<f64>| r.map_or("nothing".into(), |r| format!("{r:.3}"));
        let symmetric = format!(
            "at β = {beta} two solutions coexist, and where they exchange stability in replica symmetry, at α = {alpha:.3}, r \
             goes from {} to {}",
            said(poor),
            said(good)
        );
        let Some(onset) = self.one_step.onset else { return symmetric };
        let broken = match &self.one_step.crossing {
            Some(Crossing { alpha, r: [poor, good] }) => {
                format!("r goes from {} to {} at α = {alpha:.3}", said(poor), said(good))
            }
            None => "r does not jump".into(),
        };
        format!(
            "{symmetric}; replica symmetry is broken from α = {onset:.3} on, and with one step of breaking {broken}"
        )
    }
}

/// Why the published curve differs.
fn estimator_notes(estimator: &MonteCarlo) -> Vec<String> {
    let exact = &estimator.exact;
    let mut notes = Vec::new();
    if let Some(last) = estimator.rows.last() {
        let distance = (last.q_0_hat.mean - exact.values.q_0_hat).abs();
        let errors = last.q_0_hat.standard_error.filter(|error| *error > 0.0).map(|error| {
            let (times, count) = (distance / error, last.q_0_hat.count);
            format!(" (the distance of q̂_0 is {times:.0} standard errors of the mean of {count} estimates)")
        });
        notes.push(format!(
            "Why the published curve differs: with {} inner draws the estimator of the paper, ln of a mean over draws, gives \
             (q̂_0, r̂, q̂_d) = ({:.1}, {:.2}, {:.1}) at the exact solution, where they are ({:.1}, {:.2}, {:.1}){}. At \
             large β the mean inside the logarithm is carried by draws that are hardly ever made.",
            last.draws,
            last.q_0_hat.mean,
            last.r_hat.mean,
            last.q_d_hat.mean,
            exact.values.q_0_hat,
            exact.values.r_hat,
            exact.values.q_d_hat,
            errors.unwrap_or_default()
        ));
    }
    if let Some((draws, settled)) = picture::settled(estimator) {
        notes.push(format!(
            "Iterated with {draws} draws at α = {} it settles at (q_0, r, q_d) = ({:.3}, {:.3}, {:.3}) and ε = {} (squares) instead \
             of ({:.3}, {:.3}, {:.3}) and {}.",
            exact.alpha,
            settled.q_0,
            settled.r,
            settled.q_d,
            error(settled.eps),
            exact.q_0,
            exact.r,
            exact.q_d,
            error(exact.eps)
        ));
    }
    notes
}

impl Study for OrderParameters {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let both = one_step::curves(results, 0)?;
        let (curve, broken) = (&both.symmetric, &both.broken);
        let stable = curve.rows.iter().filter(|point| is_stable(curve, point));
        let end = stable.max_by(|a, b| a.alpha.total_cmp(&b.alpha))?;
        let crossing = curve
            .crossing
            .as_ref()
            .map(|at| Crossing { alpha: at.alpha, r: [at.poor.r, at.good.r].map(known) });
        let one_step = OneStep {
            onset: broken.landmarks("onset").next().map(|row| row.solution.alpha),
            crossing: broken.crossing().map(|rows| Crossing {
                alpha: rows[0].solution.alpha,
                r: rows.map(|row| known(row.solution.r)),
            }),
            jump: one_step::jump(broken),
        };
        Some(Measured {
            beta: end.beta,
            end: End {
                alpha: end.alpha,
                one_minus_q_d: known(end.one_minus_q_d),
                one_minus_r: known(1.0 - end.r),
            },
            crossing,
            jump: solutions::jump(curve),
            one_step,
            estimator: results.theory.get(1)?.as_monte_carlo()?.clone(),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let End { alpha, one_minus_q_d, one_minus_r } = measured.end;
        let close = |name: &str, value: Option<f64>| {
            let quantity = format!("{name} of the stable solution at α = {alpha:.2}");
            Test::below(quantity, value.map(Estimate::exact), CLOSE)
        };
        let claim = Claim::new(
            "With more examples the weight space shrinks to a point, the teacher.",
            "Sec. II C, Fig. 3a",
            vec![close("1 − q_d", one_minus_q_d), close("1 − r", one_minus_r)],
        );
        let jump = |with: &str, jump: Option<f64>| {
            let quantity = format!("jump of ε where solutions exchange stability, {with}");
            Test::below(quantity, jump.map(Estimate::exact), JUMP)
        };
        let jumps = [
            jump("one step of breaking", measured.one_step.jump),
            jump("replica symmetry", measured.jump),
        ];
        let text = |value: Option<f64>| {
            value.map_or("not known".into(), |value| Estimate::exact(value).text())
        };
        let mut notes = vec![
            "Solid and thin dashed: replica symmetry, as in the paper. Dotted: one step of breaking, with q_1 inside and q_0 \
             between clusters."
                .to_owned(),
        ];
        notes.extend(estimator_notes(&measured.estimator));
        Judgement {
            found: format!(
                "At α = {alpha:.2} 1 − q_d is {} and 1 − r is {}; {}.",
                text(one_minus_q_d),
                text(one_minus_r),
                measured.transition()
            ),
            findings: Findings::Claims(vec![claim.remark(jumps)]),
            notes,
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        picture::draw(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome::{self, Contradicted, Supported, Undecided};
    use remanent_lab::theory::monte_carlo::{self, Exact};

    /// The outcome of the claim, and of the remarks on the jump with one step and without.
    fn outcomes(
        one_minus_q_d: Option<f64>,
        one_minus_r: Option<f64>,
        [broken, jump]: [Option<f64>; 2],
    ) -> [Outcome; 3] {
        let values = monte_carlo::Estimate { q_0_hat: 1.0, r_hat: 1.0, q_d_hat: 1.0, g_e: 0.0 };
        let (branch, alpha, beta) = ("only".into(), 1.0, 20.0);
        let exact = Exact { alpha, beta, branch, q_0: 0.5, r: 0.5, q_d: 0.5, eps: 0.3, values };
        let measured = Measured {
            beta,
            end: End { alpha: 3.0, one_minus_q_d, one_minus_r },
            crossing: None,
            jump,
            one_step: OneStep { onset: Some(0.7), crossing: None, jump: broken },
            estimator: MonteCarlo { exact, rows: Vec::new() },
        };
        match OrderParameters::judge(&measured).findings {
            Findings::Claims(claims) => {
                let remark = |i: usize| claims[0].remarks[i].outcome;
                [claims[0].outcome, remark(0), remark(1)]
            }
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn weights_are_at_the_teacher_apart_or_nowhere() {
        let near = Some(0.005);
        let (none, small, large) = (None, Some(0.0), Some(0.2));
        assert_eq!(outcomes(near, near, [small, large]), [Supported, Supported, Contradicted]);
        assert_eq!(
            outcomes(near, Some(0.1), [large, small]),
            [Contradicted, Contradicted, Supported]
        );
        assert_eq!(outcomes(Some(0.1), near, [none, none]), [Contradicted, Undecided, Undecided]);
        assert_eq!(outcomes(near, None, [small, small]), [Undecided, Supported, Supported]);
    }
}
