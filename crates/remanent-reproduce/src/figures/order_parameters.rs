//! Figure 3a: the order parameters of one task, and why the published ones differ.

mod picture;

use serde::{Deserialize, Serialize};

use super::solutions::{self, is_stable};
use super::words::error;
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::thresholds::{CLOSE, JUMP};
use crate::verdict::{Claim, Estimate, Findings, Test};
use remanent_lab::theory::known;
use remanent_lab::theory::monte_carlo::MonteCarlo;

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

impl Measured {
    fn transition(&self) -> String {
        let beta = self.beta;
        let Some(Crossing { alpha, r: [poor, good] }) = &self.crossing else {
            return format!("at β = {beta} there is one solution for every α");
        };
        let said = |r: &Option<f64>| r.map_or("nothing".into(), |r| format!("{r:.3}"));
        format!(
            "at β = {beta} two solutions coexist, and where they exchange stability, at α = {alpha:.3}, r goes from {} to {}",
            said(poor),
            said(good)
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
        let curve = results.theory.first()?.as_branches()?;
        let stable = curve.rows.iter().filter(|point| is_stable(curve, point));
        let end = stable.max_by(|a, b| a.alpha.total_cmp(&b.alpha))?;
        let crossing = curve
            .crossing
            .as_ref()
            .map(|at| Crossing { alpha: at.alpha, r: [at.poor.r, at.good.r].map(known) });
        Some(Measured {
            beta: end.beta,
            end: End {
                alpha: end.alpha,
                one_minus_q_d: known(end.one_minus_q_d),
                one_minus_r: known(1.0 - end.r),
            },
            crossing,
            jump: solutions::jump(curve),
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
        let jump = measured.jump.map(Estimate::exact);
        let jump = Test::below("jump of ε where solutions exchange stability", jump, JUMP);
        let text = |value: Option<f64>| {
            value.map_or("not known".into(), |value| Estimate::exact(value).text())
        };
        Judgement {
            found: format!(
                "At α = {alpha:.2} 1 − q_d is {} and 1 − r is {}; {}.",
                text(one_minus_q_d),
                text(one_minus_r),
                measured.transition()
            ),
            findings: Findings::Claims(vec![claim.remark([jump])]),
            notes: estimator_notes(&measured.estimator),
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

    /// The outcome of the claim, and of the remark on the jump.
    fn outcomes(
        one_minus_q_d: Option<f64>,
        one_minus_r: Option<f64>,
        jump: Option<f64>,
    ) -> [Outcome; 2] {
        let values = monte_carlo::Estimate { q_0_hat: 1.0, r_hat: 1.0, q_d_hat: 1.0, g_e: 0.0 };
        let (branch, alpha, beta) = ("only".into(), 1.0, 20.0);
        let exact = Exact { alpha, beta, branch, q_0: 0.5, r: 0.5, q_d: 0.5, eps: 0.3, values };
        let measured = Measured {
            beta,
            end: End { alpha: 3.0, one_minus_q_d, one_minus_r },
            crossing: None,
            jump,
            estimator: MonteCarlo { exact, rows: Vec::new() },
        };
        match OrderParameters::judge(&measured).findings {
            Findings::Claims(claims) => [claims[0].outcome, claims[0].remarks[0].outcome],
            Findings::Answers(_) => unreachable!("a figure of the paper"),
        }
    }

    #[test]
    fn weights_are_at_the_teacher_apart_or_nowhere() {
        let near = Some(0.005);
        assert_eq!(outcomes(near, near, Some(0.0)), [Supported, Supported]);
        assert_eq!(outcomes(near, Some(0.1), Some(0.2)), [Contradicted, Contradicted]);
        assert_eq!(outcomes(Some(0.1), near, None), [Contradicted, Undecided]);
        assert_eq!(outcomes(near, None, Some(0.0)), [Undecided, Supported]);
    }
}
