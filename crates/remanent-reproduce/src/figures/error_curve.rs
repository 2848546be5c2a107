//! Figure 3b: the error of one task against α, and the power law beyond the transition.

mod picture;

use remanent_lab::theory::known;
use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};

use super::one_step;
use super::solutions::{self, stable_error};
use super::words::error;
use crate::results::{Drawing, Judgement, Results, Simulated};
use crate::study::Study;
use crate::thresholds::{ABOUT, JUMP, MOST, ROUGHLY};
use crate::verdict::{Agreement, Claim, Estimate, Findings, Test};

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
    /// The same with one step of replica-symmetry breaking on the poor branch.
    one_step: OneStep,
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
    /// ε of the stable replica-symmetric solution.
    theory: Option<f64>,
    /// ε of the stable solution with at most one step of breaking.
    one_step: Option<f64>,
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
    fn compared(&self, what: &str, theory: impl Fn(&AtAlpha) -> Option<f64>) -> Agreement {
        let numbers: Vec<_> =
            self.simulated.iter().map(|at| (at.eps.clone(), theory(at))).collect();
        let experiments = numbers.len();
        Agreement::of_trials(what, numbers, experiments)
    }

    fn agreement(&self) -> Agreement {
        self.compared("ε of SGD and of the stable solution", |at| at.theory)
    }

    fn agreement_with_one_step(&self) -> Agreement {
        self.compared("ε of SGD and of the stable solution with one step", |at| at.one_step)
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
        let text = |agreement: Agreement| {
            agreement.distance().map_or("unknown".into(), |distance| distance.text())
        };
        let (distance, nearer) = (text(self.agreement()), text(self.agreement_with_one_step()));
        let last = self.simulated.last().and_then(|at| {
            let mean = Estimate::of(at.eps.iter().copied())?;
            Some(format!("; at α = {} it reaches {}", at.alpha, mean.text()))
        });
        let said = |eps: &Option<f64>| eps.map_or("nothing".into(), error);
        let transition = |crossing: &Option<Crossing>| match crossing {
            Some(Crossing { alpha, eps: [poor, good] }) => {
                format!("from {} to {} at α = {alpha:.3}", said(poor), said(good))
            }
            None => "without a jump".into(),
        };
        let broken = self.one_step.onset.map_or(String::new(), |onset| {
            format!(" (replica symmetry is broken from α = {onset:.3} on)")
        });
        let exponents = self.exponents.zip(self.fit).map(|([low, high], fit)| {
            format!(
                ", and the local exponent of the good solution goes from {low:.1} to {high:.1} between α = {CRITICAL} and {FIT_TO} \
                 (a straight fit there gives {fit:.1})"
            )
        });
        format!(
            "The root mean square distance of SGD from the replica-symmetric theory is {distance}, and {nearer} from that with one \
             step of breaking{}. At β = {beta} the stable error goes {} with one step{broken}, and {} in replica symmetry{}.",
            last.unwrap_or_default(),
            transition(&self.one_step.crossing),
            transition(&self.crossing),
            exponents.unwrap_or_default()
        )
    }
}

impl Study for ErrorCurve {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let both = one_step::curves(results, 0)?;
        let (curve, broken) = (&both.symmetric, &both.broken);
        let good = results.theory.get(1)?.as_single()?;
        let beta = curve.rows.first()?.beta;
        let exact = |case: &Simulated| {
            let (alpha, n) = (case.simulation.setting.alpha[0], case.simulation.setting.n as f64);
            (alpha * n).round() / n
        };
        let with_one_step = one_step::stable_errors(beta, results.simulated.iter().map(exact));
        let at_alpha = |(case, one_step): (&Simulated, Option<f64>)| {
            Some(AtAlpha {
                alpha: case.simulation.setting.alpha[0],
                eps: case.final_errors(0)?,
                theory: stable_error(beta, exact(case)),
                one_step,
            })
        };
        let mut simulated: Vec<AtAlpha> =
            results.simulated.iter().zip(with_one_step).map(at_alpha).collect::<Option<_>>()?;
        simulated.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
        let inside: Vec<f64> =
            local_exponents(good).iter().filter(|e| fitted(e.0)).map(|e| e.1).collect();
        let extreme = |of: fn(f64, f64) -> f64| inside.iter().copied().reduce(of);
        let crossing = curve
            .crossing
            .as_ref()
            .map(|at| Crossing { alpha: at.alpha, eps: [at.poor.eps, at.good.eps].map(known) });
        let one_step = OneStep {
            onset: broken.landmarks("onset").next().map(|row| row.solution.alpha),
            crossing: broken.crossing().map(|rows| Crossing {
                alpha: rows[0].solution.alpha,
                eps: rows.map(|row| known(row.solution.eps)),
            }),
            jump: one_step::jump(broken),
        };
        Some(Measured {
            beta,
            simulated,
            crossing,
            jump: solutions::jump(curve),
            one_step,
            exponents: extreme(f64::min).zip(extreme(f64::max)).map(|(low, high)| [low, high]),
            fit: fitted_exponent(good),
            critical_eps: stable_error(beta, CRITICAL),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let (agreement, nearer) = (measured.agreement(), measured.agreement_with_one_step());
        let below = |quantity: String, value: Option<f64>| {
            Test::below(quantity, value.map(Estimate::exact), JUMP)
        };
        let jump = below(
            "jump of ε where the poor solution with one step and the good one exchange stability"
                .into(),
            measured.one_step.jump,
        );
        let symmetric = below("the same in replica symmetry".into(), measured.jump);
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
                .remark([agreement.consistent(), nearer.close(ROUGHLY), nearer.consistent()]),
                claim("The transition is continuous.", vec![jump]).remark([symmetric]),
                claim(
                    "After α = 1.7 the error is a power law with an exponent of about 13.1.",
                    measured.power_law(),
                ),
                claim("SGD reaches zero error after α_c ≈ 1.7.", vec![measured.perfect()]),
                claim("The theory's error is below 0.01 after α_c.", vec![low]),
            ]),
            notes: vec![
                "RS: replica symmetry, as in the paper. 1RSB: one step of replica-symmetry breaking. Shaded: where the stable RS \
                 solution has a negative replicon and is not the equilibrium. Vertical lines: the thresholds for weights that \
                 are binary while they learn."
                    .into(),
                "For which β the transition is continuous is answered in figure B1.".into(),
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
