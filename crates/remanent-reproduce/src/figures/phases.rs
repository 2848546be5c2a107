//! Figure B1: all solutions at β = 20, and the phase diagram, in replica symmetry (RS) and with one step of
//! breaking (1RSB).

mod picture;

use remanent_lab::theory::{BrokenBranches, BrokenPhases, known};
use remanent_theory::phase::{CriticalPoint, PhaseRow, RepliconLine};
use remanent_theory::rsb::{BrokenPhaseRow, PhasePoint};
use serde::{Deserialize, Serialize};

use super::one_step;
use super::solutions::jump;
use super::words::{capital, error, list};
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::verdict::{Answer, Findings};

/// Figure B1.
pub struct Phases;

/// The places of the curves of solutions, and of the phase diagram. All numbers are exact.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    beta: f64,
    /// α of the folds in RS, rising.
    folds: Vec<f64>,
    crossing: Option<Exchange>,
    replicon_zeros: Vec<RepliconLine>,
    /// With one step at the same β.
    one_step: OneStep,
    /// The curves with one step below and above the β at which the jump begins, by rising β.
    others: Vec<OneStep>,
    /// By rising β.
    phases: Vec<Phase>,
    critical_point: Option<CriticalPoint>,
    /// The smallest β at which replica symmetry breaks.
    first_breaking: Option<PhasePoint>,
    /// Where the jump begins with one step.
    jump_begins: Option<PhasePoint>,
    /// Where the onset of breaking becomes discontinuous.
    discontinuous_onset: Option<PhasePoint>,
}

/// The poor branch with one step at one β.
#[derive(Clone, Serialize, Deserialize)]
struct OneStep {
    beta: f64,
    /// λ = 0 of the RS solution.
    onset: Option<f64>,
    /// Where the poor branch ends in a fold.
    fold: Option<f64>,
    /// Where it exchanges stability with the good one.
    crossing: Option<Exchange>,
    /// Where the stability inside the clusters vanishes on it.
    inner_zeros: Vec<f64>,
    /// The last α of the curve, and q_1 − q_0 there.
    end: Option<(f64, f64)>,
}

/// The lines of the phase diagram at one β.
#[derive(Serialize, Deserialize)]
struct Phase {
    beta: f64,
    good_from: Option<f64>,
    crossing: Option<f64>,
    poor_until: Option<f64>,
    corner: Option<f64>,
    replicon_zeros: Vec<RepliconLine>,
    /// With one step: `dynamical`, `condensation`, `onset`, `crossing`, `poor_until`, `closing`.
    one_step: [Option<f64>; 6],
}

impl Phase {
    fn new(row: &PhaseRow, broken: &BrokenPhaseRow) -> Self {
        Self {
            beta: row.beta,
            good_from: row.good_from,
            crossing: row.crossing,
            poor_until: row.poor_until,
            corner: row.corner,
            replicon_zeros: row.replicon_zeros.clone(),
            one_step: [
                broken.dynamical,
                broken.condensation,
                broken.onset,
                broken.crossing,
                broken.poor_until,
                broken.closing,
            ],
        }
    }

    /// The crossing with one step.
    fn broken_crossing(&self) -> Option<f64> {
        self.one_step[3]
    }
}

/// Where poor and good solution exchange stability.
#[derive(Clone, Serialize, Deserialize)]
struct Exchange {
    alpha: f64,
    /// ε and smallest stability of the poor and of the good solution.
    eps: [Option<f64>; 2],
    replicon: [Option<f64>; 2],
    jump: Option<f64>,
}

impl OneStep {
    fn new(both: &BrokenBranches) -> Option<Self> {
        let broken = &both.broken;
        let places = |name| broken.landmarks(name).map(|row| row.solution.alpha);
        let crossing = broken.crossing().map(|rows| Exchange {
            alpha: rows[0].solution.alpha,
            eps: rows.map(|row| known(row.solution.eps)),
            replicon: rows.map(|row| known(row.solution.replicon)),
            jump: one_step::jump(broken),
        });
        let end = broken
            .rows
            .last()
            .and_then(|row| Some((row.solution.alpha, row.q_1? - row.solution.q_0)));
        Some(Self {
            beta: both.symmetric.rows.first()?.beta,
            onset: places("onset").next(),
            fold: places("fold").next(),
            crossing,
            inner_zeros: places("lambda_1 zero").collect(),
            end,
        })
    }
}

/// The curves at the β of the figure, the phase diagram, and the curves at other β.
fn asked(results: &Results) -> Option<(&BrokenBranches, &BrokenPhases, Vec<&BrokenBranches>)> {
    let diagram = results.theory.get(1)?.as_broken()?.as_phase_diagram()?;
    let others = (2..results.theory.len()).map(|i| one_step::curves(results, i));
    Some((one_step::curves(results, 0)?, diagram, others.collect::<Option<_>>()?))
}

impl Study for Phases {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let (both, diagram, others) = asked(results)?;
        let curve = &both.symmetric;
        let crossing = curve.crossing.as_ref().map(|crossing| Exchange {
            alpha: crossing.alpha,
            eps: [crossing.poor.eps, crossing.good.eps].map(known),
            replicon: [crossing.poor.replicon, crossing.good.replicon].map(known),
            jump: jump(curve),
        });
        let mut others = others.into_iter().map(OneStep::new).collect::<Option<Vec<_>>>()?;
        others.sort_by(|a, b| a.beta.total_cmp(&b.beta));
        let rows = diagram.symmetric.rows.iter().filter_map(|row| {
            let same = |broken: &&BrokenPhaseRow| broken.beta == row.beta;
            Some(Phase::new(row, diagram.broken.rows.iter().find(same)?))
        });
        Some(Measured {
            beta: curve.rows.first()?.beta,
            folds: curve.folds.iter().map(|fold| fold.alpha).collect(),
            crossing,
            replicon_zeros: curve.replicon_zeros.iter().map(RepliconLine::from).collect(),
            one_step: OneStep::new(both)?,
            others,
            phases: rows.collect(),
            critical_point: diagram.symmetric.critical_point,
            first_breaking: diagram.broken.first_breaking,
            jump_begins: diagram.broken.end_of_jump,
            discontinuous_onset: diagram.broken.discontinuous_onset,
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let beta = measured.beta;
        let answers = [
            (format!("Which solutions do the equations have at β = {beta}?"), solutions(measured)),
            (format!("Where do they exchange stability at β = {beta}?"), exchange(measured)),
            (format!("Where is replica symmetry broken at β = {beta}?"), symmetry(measured)),
            ("Is the transition continuous, as the paper says?".into(), continuous(measured)),
            ("How does the diagram depend on β?".into(), diagram(measured)),
        ];
        let found =
            answers[1..4].iter().map(|(_, said)| said.trim_end_matches('.')).collect::<Vec<_>>();
        Judgement {
            found: format!("{}.", found.join("; ")),
            findings: Findings::Answers(
                answers
                    .iter()
                    .map(|(question, said)| Answer::new(question.as_str(), said.as_str()))
                    .collect(),
            ),
            notes: vec![CAVEAT.into()],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let (both, diagram, others) = asked(results)?;
        picture::draw(both, diagram, &others)
    }
}

/// What has to be said of all these numbers.
pub const CAVEAT: &str = "RS: the replica-symmetric equations. Where the replicon λ is negative, they do not describe the \
                          equilibrium. 1RSB: one step of replica-symmetry breaking on the poor branch; where its stability λ_1 \
                          inside the clusters is negative, further steps change φ and ε at β = 20 by at most 2e-5.";

fn solutions(measured: &Measured) -> String {
    let symmetric = match measured.folds.as_slice() {
        [] => "RS: one for every α.".to_owned(),
        [good] => format!(
            "RS: a poor and a good one coexist from α = {good:.4} on, with a saddle between them."
        ),
        [good, .., poor] => format!(
            "RS: a poor and a good one coexist from α = {good:.4} to {poor:.4}, with a saddle between them; outside there is one."
        ),
    };
    match measured.one_step.fold {
        Some(fold) => format!("{symmetric} With one step the poor one ends at α = {fold:.4}."),
        None => symmetric,
    }
}

fn number(value: &Option<f64>) -> String {
    value.map_or("unknown".into(), error)
}

fn exchange(measured: &Measured) -> String {
    let said = |with: &str, exchange: &Option<Exchange>| match exchange {
        Some(Exchange { alpha, eps: [poor, good], jump, .. }) => format!(
            "{with} −βf of both are equal at α = {alpha:.5}, where ε falls from {} to {}, a jump of {}",
            number(poor),
            number(good),
            number(jump)
        ),
        None => format!("{with} −βf of two solutions never cross, and ε does not jump"),
    };
    format!(
        "{}; {}.",
        said("With one step", &measured.one_step.crossing),
        said("in RS", &measured.crossing)
    )
}

fn symmetry(measured: &Measured) -> String {
    let zeros: Vec<String> = measured
        .replicon_zeros
        .iter()
        .map(|zero| format!("α = {:.3} on the {} solution", zero.alpha, zero.branch))
        .collect();
    let mut said = match zeros.as_slice() {
        [] => "the replicon changes its sign nowhere".to_owned(),
        zeros => format!("the replicon changes its sign at {}", list(zeros)),
    };
    if let Some([Some(poor), Some(good)]) = measured.crossing.as_ref().map(|at| at.replicon) {
        let holds = if poor > 0.0 && good > 0.0 {
            "replica symmetry holds on both sides"
        } else {
            "replica symmetry is broken there"
        };
        said += &format!(
            "; at the RS crossing it is {poor:.2} for the poor and {good:.2} for the good solution: {holds}"
        );
    }
    let inner: Vec<String> =
        measured.one_step.inner_zeros.iter().map(|alpha| format!("α = {alpha:.3}")).collect();
    if !inner.is_empty() {
        said += &format!("; one step is itself stable up to {}", list(&inner[..1]));
    }
    capital(&said) + "."
}

/// Whether the transition is continuous, below and above the β at which the jump begins.
fn continuous(measured: &Measured) -> String {
    let Some(PhasePoint { alpha, beta }) = measured.jump_begins else {
        return "The β at which the jump begins is not among those shown.".into();
    };
    let curves = || measured.others.iter().chain([&measured.one_step]);
    let below = curves().filter(|at| at.beta < beta).filter_map(|at| {
        let (end, gap) = at.end.filter(|_| at.crossing.is_none() && at.fold.is_none())?;
        Some(format!(
            "at β = {} the poor branch passes into the good one at α = {end:.3}, where q_1 − q_0 has fallen to {gap:.0e}",
            at.beta
        ))
    });
    let mut above: Vec<&OneStep> = curves().filter(|at| at.beta > beta).collect();
    above.sort_by(|a, b| a.beta.total_cmp(&b.beta));
    let above = above.into_iter().filter_map(|at| {
        let Exchange { alpha, eps: [poor, good], .. } = at.crossing.as_ref()?;
        let (poor, good) = (number(poor), number(good));
        Some(format!("from {poor} to {good} at α = {alpha:.3} (β = {})", at.beta))
    });
    let (below, above): (Vec<String>, Vec<String>) = (below.collect(), above.collect());
    let below = if below.is_empty() { String::new() } else { format!(": {}", list(&below)) };
    let above =
        if above.is_empty() { String::new() } else { format!(": ε falls {}", list(&above)) };
    format!(
        "With one step of breaking it is continuous below β = {beta:.3}{below}. Above, it is of first order{above}. The jump begins \
         at α = {alpha:.4}."
    )
}

fn diagram(measured: &Measured) -> String {
    let place = |at: &Option<PhasePoint>| {
        at.map_or("nowhere here".into(), |p| format!("at α = {:.3}, β = {:.2}", p.alpha, p.beta))
    };
    let points = format!(
        "Replica symmetry first breaks {}, and the onset of breaking becomes discontinuous {}",
        place(&measured.first_breaking),
        place(&measured.discontinuous_onset)
    );
    let meeting = match measured.critical_point {
        Some(CriticalPoint { alpha, beta }) => {
            format!("the folds of RS meet at α = {alpha:.3}, β = {beta:.2}")
        }
        None => "the folds of RS meet at none of these β".into(),
    };
    let moves = |crossing: fn(&Phase) -> Option<f64>| {
        let all: Vec<(f64, f64)> =
            measured.phases.iter().filter_map(|row| Some((row.beta, crossing(row)?))).collect();
        match (all.first(), all.last()) {
            (Some(low), Some(high)) => format!(
                "moves from α = {:.3} at β = {} to α = {:.3} at β = {}",
                low.1, low.0, high.1, high.0
            ),
            _ => "does not exist".into(),
        }
    };
    format!(
        "{points}; {meeting}. With one step the crossing {}; in RS it {}.",
        moves(Phase::broken_crossing),
        moves(|row| row.crossing)
    )
}

#[cfg(test)]
mod tests {
    use remanent_theory::curve::Branch;

    use super::*;

    fn one_step(beta: f64, crossing: Option<(f64, [f64; 2])>) -> OneStep {
        OneStep {
            beta,
            onset: Some(0.73),
            fold: crossing.map(|_| 1.53),
            crossing: crossing.map(|(alpha, eps)| Exchange {
                alpha,
                eps: eps.map(Some),
                replicon: [Some(-0.1), Some(0.9)],
                jump: Some(eps[0] - eps[1]),
            }),
            inner_zeros: vec![0.88],
            end: Some((1.58, 1e-4)),
        }
    }

    fn measured(replicon: f64) -> Measured {
        let row = |beta: f64, crossing: Option<f64>, broken: Option<f64>| Phase {
            beta,
            good_from: None,
            crossing,
            poor_until: None,
            corner: None,
            replicon_zeros: Vec::new(),
            one_step: [None, None, None, broken, None, None],
        };
        Measured {
            beta: 20.0,
            folds: vec![1.5, 1.9],
            crossing: Some(Exchange {
                alpha: 1.65,
                eps: [Some(0.22), Some(0.01)],
                replicon: [Some(replicon), Some(0.9)],
                jump: Some(0.21),
            }),
            replicon_zeros: vec![RepliconLine { alpha: 0.73, branch: Branch::Poor }],
            one_step: one_step(20.0, Some((1.518, [0.138, 0.035]))),
            others: vec![one_step(16.0, None), one_step(50.0, Some((1.368, [0.2, 0.0])))],
            phases: vec![
                row(11.0, None, None),
                row(20.0, Some(1.65), Some(1.518)),
                row(50.0, Some(1.98), Some(1.368)),
            ],
            critical_point: Some(CriticalPoint { alpha: 1.55, beta: 16.1 }),
            first_breaking: Some(PhasePoint { alpha: 1.376, beta: 11.626 }),
            jump_begins: Some(PhasePoint { alpha: 1.5608, beta: 16.991 }),
            discontinuous_onset: None,
        }
    }

    fn answers(measured: &Measured) -> Vec<String> {
        match Phases::judge(measured).findings {
            Findings::Answers(answers) => answers.into_iter().map(|a| a.answer).collect(),
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn says(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn every_place_is_named() {
        let said = answers(&measured(-13.0));
        says(
            &said[0],
            &["from α = 1.5000 to 1.9000", "With one step the poor one ends at α = 1.5300"],
        );
        says(&said[1], &["at α = 1.65000", "a jump of 0.210", "With one step", "α = 1.51800"]);
        says(
            &said[2],
            &["α = 0.730 on the poor solution", "symmetry is broken there", "α = 0.880"],
        );
        says(&said[3], &["continuous below β = 16.991: at β = 16 ", "Above, it is of first order"]);
        says(&said[3], &["from 0.138 to 0.035 at α = 1.518 (β = 20) and from 0.200 to 0.000"]);
        says(&said[4], &["α = 1.376, β = 11.63", "discontinuous nowhere here", "β = 16.10"]);
        says(&said[4], &["crossing moves from α = 1.518 at β = 20 to α = 1.368 at β = 50"]);
        says(&answers(&measured(0.5))[2], &["replica symmetry holds on both sides"]);
    }

    #[test]
    fn a_single_solution_has_no_places() {
        let said = answers(&Measured {
            folds: Vec::new(),
            crossing: None,
            replicon_zeros: Vec::new(),
            one_step: one_step(10.0, None),
            phases: Vec::new(),
            critical_point: None,
            jump_begins: None,
            ..measured(0.0)
        });
        assert_eq!(said[0], "RS: one for every α.");
        assert!(said[1].contains("never cross") && said[2].contains("nowhere"));
        says(&said[3], &["not among those shown"]);
        says(&said[4], &["meet at none of these β", "With one step the crossing does not exist"]);
    }
}
