//! Figure 3b: the error of one task against α, and the power law beyond the transition.

mod picture;

use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};

use super::solutions::{self, stable_error};
use super::words::error;
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::{ABOUT, JUMP, MOST, ROUGHLY};
use crate::verdict::{Agreement, Claim, Estimate, Findings, Test};
use remanent_lab::theory::known;

/// The exponent that the paper fits from α_c on.
const PUBLISHED_EXPONENT: f64 = 13.1;
/// The paper's α_c, where its fit begins.
const CRITICAL: f64 = 1.7;
/// Where our look at it ends.
const FIT_TO: f64 = 2.5;

/// Figure 3b.
pub struct ErrorCurve;

/// SGD beside the theory.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    beta: f64,
    /// By rising α.
    simulated: Vec<AtAlpha>,
    /// Where two solutions exchange stability, if they do.
    crossing: Option<Crossing>,
    /// What ε loses there.
    jump: Option<f64>,
    /// The smallest and the largest local exponent of the good solution in the range of the fit.
    exponents: Option<[f64; 2]>,
    /// The exponent of a straight fit there.
    fit: Option<f64>,
    /// ε of the stable solution at α_c.
    critical_eps: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct AtAlpha {
    alpha: f64,
    /// ε of every trial.
    eps: Vec<f64>,
    /// ε of the stable solution.
    theory: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Crossing {
    alpha: f64,
    /// ε of the poor and of the good solution.
    eps: [Option<f64>; 2],
}

/// −d ln ε/d ln α half-way between neighbouring points.
fn local_exponents(points: &[Solution]) -> Vec<(f64, f64)> {
    let known: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.alpha.ln(), known(point.ln_eps)?))).collect();
    known
        .windows(2)
        .map(|pair| {
            let ((a, x), (b, y)) = (pair[0], pair[1]);
            ((0.5 * (a + b)).exp(), -(y - x) / (b - a))
        })
        .collect()
}

/// Whether an α is in the range of the fit; an end may miss it by rounding.
fn fitted(alpha: f64) -> bool {
    (CRITICAL - 1e-9..=FIT_TO + 1e-9).contains(&alpha)
}

/// The exponent of the power law nearest to the points in the range of the fit.
fn fitted_exponent(points: &[Solution]) -> Option<f64> {
    let inside = points.iter().filter(|point| fitted(point.alpha));
    let logs: Vec<(f64, f64)> =
        inside.filter_map(|point| Some((point.alpha.ln(), known(point.ln_eps)?))).collect();
    let n = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (above, below) = logs.iter().fold((0.0, 0.0), |(above, below), p| {
        (above + (p.0 - x) * (p.1 - y), below + (p.0 - x) * (p.0 - x))
    });
    Some(-above / below).filter(|exponent| exponent.is_finite())
}

impl Measured {
    fn agreement(&self) -> Agreement {
        let numbers: Vec<_> = self.simulated.iter().map(|at| (at.eps.clone(), at.theory)).collect();
        let experiments = numbers.len();
        Agreement::of_trials("ε of SGD and of the stable solution", numbers, experiments)
    }

    /// Relative distances of the smallest and the largest local exponent from the published one.
    fn power_law(&self) -> Vec<Test> {
        let test = |(i, name): (usize, &str)| {
            let found = self.exponents.map(|exponents| exponents[i]);
            let said = found.map_or(String::new(), |exponent| format!(", which is {exponent:.2},"));
            let quantity = format!(
                "relative distance of the {name} local exponent{said} from {PUBLISHED_EXPONENT}"
            );
            let distance = found.map(|exponent| (exponent / PUBLISHED_EXPONENT - 1.0).abs());
            Test::below(quantity, distance.map(Estimate::exact), ABOUT)
        };
        ["smallest", "largest"].into_iter().enumerate().map(test).collect()
    }

    /// The share of trials without error at the largest α.
    fn perfect(&self) -> Test {
        let last = self.simulated.last();
        let share = last
            .and_then(|at| Estimate::of(at.eps.iter().map(|eps| f64::from(u8::from(*eps == 0.0)))));
        let alpha = last.map_or(String::new(), |at| format!(" at α = {}", at.alpha));
        Test::above(format!("share of trials of SGD without error{alpha}"), share, MOST)
    }

    fn found(&self) -> String {
        let beta = self.beta;
        let distance = self.agreement().distance().map_or("unknown".into(), |d| d.text());
        let last = self.simulated.last().and_then(|at| {
            let mean = Estimate::of(at.eps.iter().copied())?;
            Some(format!("; at α = {} it reaches {}", at.alpha, mean.text()))
        });
        let said = |eps: &Option<f64>| eps.map_or("nothing".into(), error);
        let transition = match &self.crossing {
            Some(Crossing { alpha, eps: [poor, good] }) => {
                format!("goes from {} to {} at α = {alpha:.3}", said(poor), said(good))
            }
            None => "has no jump".into(),
        };
        let exponents = self.exponents.zip(self.fit).map(|([low, high], fit)| {
            format!(
                ", and the local exponent of the good solution goes from {low:.1} to {high:.1} between α = {CRITICAL} and {FIT_TO} \
                 (a straight fit there gives {fit:.1})"
            )
        });
        format!(
            "The root mean square distance of SGD from the theory is {distance}{}. At β = {beta} the theory's stable error \
             {transition}{}.",
            last.unwrap_or_default(),
            exponents.unwrap_or_default()
        )
    }
}

impl Study for ErrorCurve {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let curve = results.theory.first()?.as_branches()?;
        let good = results.theory.get(1)?.as_single()?;
        let beta = curve.rows.first()?.beta;
        let at_alpha = |case: &Simulated| {
            let (alpha, n) = (case.simulation.setting.alpha[0], case.simulation.setting.n as f64);
            let theory = stable_error(beta, (alpha * n).round() / n);
            Some(AtAlpha { alpha, eps: case.final_errors(0)?, theory })
        };
        let mut simulated: Vec<AtAlpha> =
            results.simulated.iter().map(at_alpha).collect::<Option<_>>()?;
        simulated.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
        let inside: Vec<f64> =
            local_exponents(good).iter().filter(|e| fitted(e.0)).map(|e| e.1).collect();
        let extreme = |of: fn(f64, f64) -> f64| inside.iter().copied().reduce(of);
        let crossing = curve
            .crossing
            .as_ref()
            .map(|at| Crossing { alpha: at.alpha, eps: [at.poor.eps, at.good.eps].map(known) });
        Some(Measured {
            beta,
            simulated,
            crossing,
            jump: solutions::jump(curve),
            exponents: extreme(f64::min).zip(extreme(f64::max)).map(|(low, high)| [low, high]),
            fit: fitted_exponent(good),
            critical_eps: stable_error(beta, CRITICAL),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let agreement = measured.agreement();
        let below = |quantity: String, value: Option<f64>| {
            Test::below(quantity, value.map(Estimate::exact), JUMP)
        };
        let jump = below("jump of ε where solutions exchange stability".into(), measured.jump);
        let low =
            below(format!("ε of the stable solution at α = {CRITICAL}"), measured.critical_eps);
        let claim = |says: &str, tests| Claim::new(says, "Sec. II C, Fig. 3b", tests);
        Judgement {
            found: measured.found(),
            findings: Findings::Claims(vec![
                claim(
                    "SGD is approximately consistent with the theory, at least qualitatively.",
                    vec![agreement.close(ROUGHLY)],
                )
                .remark([agreement.consistent()]),
                claim("The transition is continuous.", vec![jump]),
                claim(
                    "After α = 1.7 the error is a power law with an exponent of about 13.1.",
                    measured.power_law(),
                ),
                claim("SGD reaches zero error after α_c ≈ 1.7.", vec![measured.perfect()]),
                claim("The theory's error is below 0.01 after α_c.", vec![low]),
            ]),
            notes: vec![
                "Shaded: where the stable solution has a negative replicon and the replica-symmetric curve is not to be \
                 trusted. Dashed lines: the thresholds for weights that are binary while they learn."
                    .into(),
                "The published theory curve is a Monte-Carlo estimate; figure 3a shows how far it is from the exact one."
                    .into(),
                format!(
                    "Inset: the theory from α = {CRITICAL} on, and a power law with the paper's exponent through its first \
                     point."
                ),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        picture::draw(results)
    }
}

#[cfg(test)]
mod tests;
