//! Figure B1: all solutions at β = 20, and the phase diagram.

use remanent_plot::{
    Axis, Color, Curve, Dash, Figure, HorizontalLine, Panel, Points, Table, VerticalLine,
};
use remanent_theory::branches::Branches;
use remanent_theory::curve::Branch;
use remanent_theory::phase::{CriticalPoint, PhaseDiagram, PhaseRow, RepliconLine};
use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};

use super::solutions::jump;
use super::words::{capital, error, list};
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::verdict::{Answer, Findings};
use remanent_lab::theory::known;

/// Figure B1.
pub struct Phases;

/// The places of the curve of solutions, and of the phase diagram. All numbers are exact.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    beta: f64,
    /// α of the folds, rising.
    folds: Vec<f64>,
    crossing: Option<Exchange>,
    replicon_zeros: Vec<RepliconLine>,
    /// By rising β.
    phases: Vec<Phase>,
    critical_point: Option<CriticalPoint>,
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
}

impl From<&PhaseRow> for Phase {
    fn from(row: &PhaseRow) -> Self {
        Self {
            beta: row.beta,
            good_from: row.good_from,
            crossing: row.crossing,
            poor_until: row.poor_until,
            corner: row.corner,
            replicon_zeros: row.replicon_zeros.clone(),
        }
    }
}

/// Where poor and good solution exchange stability.
#[derive(Serialize, Deserialize)]
struct Exchange {
    alpha: f64,
    /// ε and replicon of the poor and of the good solution.
    eps: [Option<f64>; 2],
    replicon: [Option<f64>; 2],
    jump: Option<f64>,
}

fn asked(results: &Results) -> Option<(&Branches, &PhaseDiagram)> {
    Some((results.theory.first()?.as_branches()?, results.theory.get(1)?.as_phase_diagram()?))
}

impl Study for Phases {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let (curve, diagram) = asked(results)?;
        let crossing = curve.crossing.as_ref().map(|crossing| Exchange {
            alpha: crossing.alpha,
            eps: [crossing.poor.eps, crossing.good.eps].map(known),
            replicon: [crossing.poor.replicon, crossing.good.replicon].map(known),
            jump: jump(curve),
        });
        Some(Measured {
            beta: curve.rows.first()?.beta,
            folds: curve.folds.iter().map(|fold| fold.alpha).collect(),
            crossing,
            replicon_zeros: curve.replicon_zeros.iter().map(RepliconLine::from).collect(),
            phases: diagram.rows.iter().map(Phase::from).collect(),
            critical_point: diagram.critical_point,
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let beta = measured.beta;
        let answers = [
            (format!("Which solutions do the equations have at β = {beta}?"), solutions(measured)),
            (format!("Where do they exchange stability at β = {beta}?"), exchange(measured)),
            (format!("Where is replica symmetry broken at β = {beta}?"), symmetry(measured)),
            ("How does that depend on β?".into(), diagram(measured)),
        ];
        let found =
            answers[..3].iter().map(|(_, said)| said.trim_end_matches('.')).collect::<Vec<_>>();
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
        let (curve, diagram) = asked(results)?;
        let [errors, replicon] = draw_solutions(curve)?;
        Some(Drawing {
            figure: Figure::grid(vec![errors, replicon, draw_diagram(diagram)], 2),
            table: table(diagram),
        })
    }
}

/// What has to be said of all these numbers.
pub const CAVEAT: &str = "All numbers are solutions of the replica-symmetric equations. Where the replicon λ is negative, \
                          these do not describe the true equilibrium; a crossing with λ < 0 on one side is an estimate \
                          within replica symmetry, not the exact place of the transition.";

fn solutions(measured: &Measured) -> String {
    match measured.folds.as_slice() {
        [] => "One for every α.".into(),
        [good] => format!(
            "A poor and a good one coexist from α = {good:.4} on, with a saddle between them."
        ),
        [good, .., poor] => format!(
            "A poor and a good one coexist from α = {good:.4} to {poor:.4}, with a saddle between them; outside there is one."
        ),
    }
}

fn exchange(measured: &Measured) -> String {
    let Some(Exchange { alpha, eps: [poor, good], jump, .. }) = &measured.crossing else {
        return "Nowhere: −βf of two solutions never cross, and ε does not jump.".into();
    };
    let number = |value: &Option<f64>| value.map_or("unknown".into(), error);
    format!(
        "−βf of both are equal at α = {alpha:.5}; there ε falls from {} to {}, a jump of {}.",
        number(poor),
        number(good),
        number(jump)
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
            "; at the crossing it is {poor:.2} for the poor and {good:.2} for the good solution: {holds}"
        );
    }
    capital(&said) + "."
}

fn diagram(measured: &Measured) -> String {
    let crossings: Vec<(f64, f64)> =
        measured.phases.iter().filter_map(|row| Some((row.beta, row.crossing?))).collect();
    let meeting = match measured.critical_point {
        Some(CriticalPoint { alpha, beta }) => format!(
            "The two folds meet in a critical point at α = {alpha:.3}, β = {beta:.2}; at smaller β there is one solution for \
             every α, and no jump"
        ),
        None => "The folds meet at none of these β".into(),
    };
    match (crossings.first(), crossings.last()) {
        (Some(low), Some(high)) => format!(
            "{meeting}. The crossing moves from α = {:.3} at β = {} to α = {:.3} at β = {}.",
            low.1, low.0, high.1, high.0
        ),
        _ => format!("{meeting}. There is no crossing."),
    }
}

/// ε and replicon of every solution.
fn draw_solutions(curve: &Branches) -> Option<[Panel; 2]> {
    let branch = |panel: &mut Panel, of: &dyn Fn(&Solution) -> f64| {
        for (color, branch, dash) in [
            (0, Branch::Poor, Dash::Solid),
            (1, Branch::Middle, Dash::Dashed),
            (2, Branch::Good, Dash::Solid),
        ] {
            let rows = curve.rows.iter().filter(|p| p.branch == branch);
            let (x, y) = rows.map(|p| (p.alpha, of(p))).unzip();
            panel.push(
                Curve::new(x, y).label(branch.to_string()).dash(dash).color(Color::Palette(color)),
            );
        }
    };
    let mut errors = Panel::new(
        format!("error of every solution, β = {}", curve.rows.first()?.beta),
        Axis::linear("α").range(0.0, 2.5),
        Axis::log("ε").lower(1e-4),
    );
    branch(&mut errors, &|p| p.eps);
    let mut replicon = Panel::new(
        "replicon λ",
        Axis::linear("α").range(0.0, 2.5),
        Axis::linear("λ").range(-4.0, 1.1),
    );
    branch(&mut replicon, &|p| p.replicon);
    replicon.push(HorizontalLine::new(0.0));
    if let Some(crossing) = &curve.crossing {
        errors.push(VerticalLine::new(crossing.alpha).label("crossing"));
        replicon.push(VerticalLine::new(crossing.alpha).label("crossing"));
    }
    Some([errors, replicon])
}

fn draw_diagram(diagram: &PhaseDiagram) -> Panel {
    let mut map = Panel::new("phase diagram", Axis::linear("α"), Axis::log("β"));
    let mut draw = |name: &str, color: usize, dash: Dash, of: &dyn Fn(&PhaseRow) -> Option<f64>| {
        let (x, y): (Vec<f64>, Vec<f64>) =
            diagram.rows.iter().filter_map(|row| Some((of(row)?, row.beta))).unzip();
        map.push(Curve::new(x, y).label(name).dash(dash).color(Color::Palette(color)));
    };
    draw("good from", 2, Dash::Solid, &|row| row.good_from);
    draw("crossing", 6, Dash::Dashed, &|row| row.crossing);
    draw("poor until", 0, Dash::Solid, &|row| row.poor_until.or(row.corner));
    draw("λ = 0, poor", 3, Dash::Dotted, &|row| {
        row.replicon_zeros
            .iter()
            .filter(|zero| zero.branch != Branch::Good)
            .map(|zero| zero.alpha)
            .reduce(f64::min)
    });
    if let Some(point) = &diagram.critical_point {
        map.push(
            Points::new(vec![point.alpha], vec![point.beta])
                .label("critical point")
                .color(Color::Palette(1)),
        );
    }
    map
}

fn table(diagram: &PhaseDiagram) -> Table {
    let mut table =
        Table::new(["beta", "good_from", "crossing", "poor_until", "corner", "replicon_zero"]);
    for row in &diagram.rows {
        table.push(vec![
            row.beta.into(),
            row.good_from.into(),
            row.crossing.into(),
            row.poor_until.into(),
            row.corner.into(),
            row.replicon_zeros.first().map(|zero| zero.alpha).into(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(replicon: f64) -> Measured {
        let row = |beta: f64, crossing: Option<f64>| Phase {
            beta,
            good_from: None,
            crossing,
            poor_until: None,
            corner: None,
            replicon_zeros: Vec::new(),
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
            phases: vec![row(11.0, None), row(20.0, Some(1.65)), row(50.0, Some(1.98))],
            critical_point: Some(CriticalPoint { alpha: 1.55, beta: 16.1 }),
        }
    }

    fn answers(measured: &Measured) -> Vec<String> {
        match Phases::judge(measured).findings {
            Findings::Answers(answers) => answers.into_iter().map(|a| a.answer).collect(),
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    #[test]
    fn every_place_is_named() {
        let said = answers(&measured(-13.0));
        assert!(said[0].contains("from α = 1.5000 to 1.9000"), "{}", said[0]);
        assert!(
            said[1].contains("α = 1.65000") && said[1].contains("a jump of 0.210"),
            "{}",
            said[1]
        );
        assert!(said[2].contains("α = 0.730 on the poor solution"), "{}", said[2]);
        assert!(said[2].ends_with("replica symmetry is broken there."), "{}", said[2]);
        assert!(said[3].contains("critical point at α = 1.550, β = 16.10"), "{}", said[3]);
        assert!(said[3].contains("from α = 1.650 at β = 20 to α = 1.980 at β = 50"), "{}", said[3]);
        assert!(answers(&measured(0.5))[2].ends_with("replica symmetry holds on both sides."));
    }

    #[test]
    fn a_single_solution_has_no_places() {
        let said = answers(&Measured {
            folds: Vec::new(),
            crossing: None,
            replicon_zeros: Vec::new(),
            phases: Vec::new(),
            critical_point: None,
            ..measured(0.0)
        });
        assert_eq!(said[0], "One for every α.");
        assert!(said[1].starts_with("Nowhere") && said[2].contains("nowhere"));
        assert_eq!(said[3], "The folds meet at none of these β. There is no crossing.");
    }
}
