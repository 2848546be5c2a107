//! Figure B7: what becomes of the transition as β grows.

use remanent_lab::theory::{BrokenBranches, BrokenPhases, BrokenRow, known};
use remanent_plot::{Axis, Color, Curve, Dash, Figure, HorizontalLine, Panel, Table};
use remanent_theory::curve::Branch;
use remanent_theory::phase::PhaseRow;
use remanent_theory::rsb::BrokenPhaseRow;
use remanent_theory::solution::Solution;
use serde::{Deserialize, Serialize};

use super::one_step;
use super::phases::CAVEAT;
use super::solutions::stable_solutions;
use super::words::{error, list};
use crate::results::{Drawing, Judgement, Results};
use crate::study::Study;
use crate::verdict::{Answer, Estimate, Findings, Outcome, Test, Threshold};

/// Where the errors are compared.
const ALPHA: f64 = 2.0;
/// Where the error jumps if the weights themselves are ±1 and β → ∞ (Györgyi 1990; Sompolinsky, Tishby and
/// Seung 1990).
const BINARY: f64 = 1.245;

/// Figure B7.
pub struct Limit;

/// Solutions by β. All numbers are exact; the jump is interpolated between neighbouring α.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    /// ln ε of the good solution at α = 2, by rising β.
    good: Vec<(f64, f64)>,
    /// In replica symmetry, by rising β.
    transitions: Vec<Transition>,
    /// With one step of breaking on the poor branch, by rising β.
    one_step: Vec<OneStep>,
}

/// The transition with one step at one β.
#[derive(Serialize, Deserialize)]
struct OneStep {
    beta: f64,
    /// Where the solutions exchange stability, if they do.
    crossing: Option<f64>,
    /// ε of both solutions there.
    eps: Option<[f64; 2]>,
    /// Where the poor branch ends.
    fold: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Transition {
    beta: f64,
    /// Where the solutions exchange stability, if there are two.
    crossing: Option<f64>,
    /// The jump of ε there, for the β of which the solutions are known.
    jump: Option<f64>,
    /// From where to where the replicon of the stable solution is negative.
    broken: Vec<(f64, f64)>,
}

fn asked(results: &Results) -> Option<(&[Solution], &BrokenPhases)> {
    let phases = results.theory.get(1)?.as_broken()?.as_phase_diagram()?;
    Some((results.theory.first()?.as_single()?, phases))
}

/// The curves with one step, each at one β.
fn curves(results: &Results) -> Vec<&BrokenBranches> {
    (2..results.theory.len()).filter_map(|i| one_step::curves(results, i)).collect()
}

impl OneStep {
    fn new(both: &BrokenBranches) -> Option<Self> {
        let (curve, crossing) = (&both.broken, both.broken.crossing());
        Some(Self {
            beta: both.symmetric.rows.first()?.beta,
            crossing: crossing.map(|[poor, _]| poor.solution.alpha),
            eps: crossing.map(|rows| rows.map(|row| row.solution.eps)),
            fold: curve.landmarks("fold").next().map(|row| row.solution.alpha),
        })
    }
}

fn betas(points: &[Solution]) -> Vec<f64> {
    let mut betas: Vec<f64> = points.iter().map(|point| point.beta).collect();
    betas.dedup();
    betas
}

impl Study for Limit {
    type Measured = Measured;

    fn measure(results: &Results) -> Option<Measured> {
        let (points, phases) = asked(results)?;
        // On the good solution, stable or not: where it exists it is the one that a larger α leads to.
        let good = |beta: f64| {
            let same = points.iter().filter(|p| p.beta == beta && p.branch != Branch::Poor);
            same.filter(|p| p.branch != Branch::Middle && (p.alpha - ALPHA).abs() < 1e-6)
                .find_map(|p| known(p.ln_eps))
        };
        let transition = |row: &PhaseRow| Transition {
            beta: row.beta,
            crossing: row.crossing,
            jump: row.crossing.and_then(|at| jump(points, row.beta, at)),
            broken: broken(row),
        };
        Some(Measured {
            good: betas(points).into_iter().filter_map(|b| Some((b, good(b)?))).collect(),
            transitions: phases.symmetric.rows.iter().map(transition).collect(),
            one_step: curves(results).into_iter().filter_map(OneStep::new).collect(),
        })
    }

    fn judge(measured: &Measured) -> Judgement {
        let answers = vec![
            generalisation(measured),
            limit(&measured.one_step),
            transition(measured),
            symmetry(&measured.transitions),
        ];
        let found: Vec<&str> = answers.iter().map(|answer| answer.answer.as_str()).collect();
        Judgement {
            found: found.join(" "),
            findings: Findings::Answers(answers),
            notes: vec![
                CAVEAT.into(),
                "Whether the transition at β = 20 is continuous, as the paper says, is decided in figure 3b; figure B1 shows up \
                 to which β there is no jump."
                    .into(),
            ],
        }
    }

    fn draw(results: &Results) -> Option<Drawing> {
        let (points, phases) = asked(results)?;
        let stable = stable_solutions(points);
        let [mut errors, trusted] = draw_solutions(&stable, &betas(points));
        draw_one_step(&mut errors, &curves(results), &betas(points));
        let mut table =
            Table::new(["rsb", "beta", "alpha", "branch", "stable", "ln_eps", "eps", "replicon"]);
        for point in points {
            let chosen = stable.iter().any(|other| std::ptr::eq(*other, point));
            write(&mut table, 0, point, chosen);
        }
        for curve in curves(results).iter().map(|both| &both.broken) {
            let crossing = curve.crossing().map(|[poor, _]| poor.solution.alpha);
            for row in &curve.rows {
                let (p, before) = (&row.solution, |at: f64| row.solution.alpha < at);
                let chosen = p.branch == Branch::Poor && crossing.is_none_or(before);
                write(&mut table, row.rsb, p, chosen);
            }
        }
        Some(Drawing { figure: Figure::grid(vec![errors, trusted, draw_edges(phases)], 2), table })
    }
}

fn write(table: &mut Table, rsb: usize, point: &Solution, chosen: bool) {
    table.push(vec![
        (rsb as i64).into(),
        point.beta.into(),
        point.alpha.into(),
        point.branch.to_string().into(),
        i64::from(chosen).into(),
        known(point.ln_eps).into(),
        point.eps.into(),
        point.replicon.into(),
    ]);
}

/// The jump of ε at a crossing, from the solutions at the α on both sides of it.
fn jump(points: &[Solution], beta: f64, at: f64) -> Option<f64> {
    let eps = |branch: Branch| {
        let line: Vec<(f64, f64)> = points
            .iter()
            .filter(|p| p.beta == beta && p.branch == branch)
            .filter_map(|p| Some((p.alpha, known(p.ln_eps)?)))
            .collect();
        let pair = line.windows(2).find(|pair| pair[0].0 <= at && at <= pair[1].0)?;
        let ((a, low), (b, high)) = (pair[0], pair[1]);
        Some((low + (high - low) * (at - a) / (b - a)).exp())
    };
    Some(eps(Branch::Poor)? - eps(Branch::Good)?)
}

/// Where the replicon of the stable solution is negative. It is positive at small α, changes its sign at
/// its zeros, and is positive on the good solution.
fn broken(row: &PhaseRow) -> Vec<(f64, f64)> {
    let mut zeros: Vec<f64> = row
        .replicon_zeros
        .iter()
        .filter(|zero| match (zero.branch, row.crossing) {
            (Branch::Middle, _) => false,
            (Branch::Good, Some(at)) => zero.alpha > at,
            (_, Some(at)) => zero.alpha < at,
            (_, None) => true,
        })
        .map(|zero| zero.alpha)
        .collect();
    zeros.sort_by(f64::total_cmp);
    let end = |from: f64, next: Option<&f64>| {
        let until = row.crossing.filter(|&at| at > from && next.is_none_or(|&next| at < next));
        until.or(next.copied())
    };
    zeros.chunks(2).filter_map(|pair| Some((pair[0], end(pair[0], pair.get(1))?))).collect()
}

/// Whether perfect generalisation is reached.
fn generalisation(measured: &Measured) -> Answer {
    let steps = measured.good.windows(2).map(|pair| pair[1].1 - pair[0].1);
    let rise = steps.reduce(f64::max).map(Estimate::exact);
    let quantity = format!(
        "largest change of ln ε of the good solution at α = {ALPHA} from one β to the next"
    );
    let test = Test::below(quantity, rise, Threshold::ZERO);
    let said: Vec<String> = measured
        .good
        .iter()
        .map(|(beta, ln)| format!("{} at β = {beta}", error(ln.exp())))
        .collect();
    let falls = match test.outcome {
        Outcome::Supported => "it falls with every rise of β",
        Outcome::Contradicted => "it does not fall with every rise of β",
        Outcome::Undecided => "whether it falls with β is not known",
    };
    let late: Vec<String> = measured
        .transitions
        .iter()
        .filter(|t| t.crossing.is_some_and(|at| at > ALPHA))
        .map(|t| format!("β = {}", t.beta))
        .collect();
    let stable = match late.as_slice() {
        [] => "it is the stable solution there at every β shown".into(),
        late => format!("but it is not the stable solution there at {}", list(late)),
    };
    Answer::new(
        format!("Is perfect generalisation reached at α = {ALPHA} as β grows?"),
        format!(
            "At α = {ALPHA} the error of the good solution is {}: {falls}; {stable}.",
            list(&said)
        ),
    )
    .tested([test])
}

/// Where the transition goes with one step.
fn limit(one_step: &[OneStep]) -> Answer {
    let question =
        "Where is the transition as β grows, with one step of replica-symmetry breaking?";
    let places: Vec<(&OneStep, f64)> =
        one_step.iter().filter_map(|at| Some((at, at.crossing?))).collect();
    let said: Vec<String> = places
        .iter()
        .map(|(at, alpha)| {
            let eps = at.eps.map_or(String::new(), |[poor, good]| {
                format!(", ε from {} to {}", error(poor), error(good))
            });
            let fold =
                at.fold.map_or(String::new(), |fold| format!(", poor branch until {fold:.3}"));
            format!("α = {alpha:.4} at β = {} ({:+.4}{eps}{fold})", at.beta, alpha - BINARY)
        })
        .collect();
    let changes = places.windows(2).map(|w| (w[1].1 - BINARY).abs() - (w[0].1 - BINARY).abs());
    let quantity = format!(
        "largest change of the distance of the crossing from {BINARY} from one β to the next"
    );
    let change = changes.reduce(f64::max).map(Estimate::exact);
    let test = Test::below(quantity, change, Threshold::ZERO);
    let goes = match test.outcome {
        Outcome::Supported => "It comes nearer with every rise of β",
        Outcome::Contradicted => "It does not come nearer with every rise of β",
        Outcome::Undecided => "Whether it comes nearer is not known",
    };
    let answer = match said.as_slice() {
        [] => "With one step there is no jump at any β shown.".into(),
        said => format!(
            "The distance is that from the binary perceptron's α = {BINARY} at β → ∞: {}. {goes}.",
            list(said)
        ),
    };
    Answer::new(question, answer).tested([test])
}

/// Where the transition is in replica symmetry, and how large its jump.
fn transition(measured: &Measured) -> Answer {
    let said: Vec<String> = measured
        .transitions
        .iter()
        .filter_map(|t| {
            let jump =
                t.jump.map_or(String::new(), |jump| format!(" (ε falls by {})", error(jump)));
            Some(format!("α = {:.3} at β = {}{jump}", t.crossing?, t.beta))
        })
        .collect();
    let without: Vec<String> = measured
        .transitions
        .iter()
        .filter(|t| t.crossing.is_none())
        .map(|t| format!("{}", t.beta))
        .collect();
    let answer = match (said.as_slice(), without.as_slice()) {
        ([], _) => "There is no jump at any β shown.".into(),
        (said, []) => {
            format!("The good solution becomes the stable one by a jump at {}.", list(said))
        }
        (said, without) => format!(
            "The good solution becomes the stable one by a jump at {}; there is none at β = {}.",
            list(said),
            list(without)
        ),
    };
    Answer::new("Where is the transition in replica symmetry, and how large is its jump?", answer)
}

/// Where the replica-symmetric answer is not to be trusted.
fn symmetry(transitions: &[Transition]) -> Answer {
    let said: Vec<String> = transitions
        .iter()
        .flat_map(|t| t.broken.iter().map(|(a, b)| format!("{a:.2} to {b:.2} at β = {}", t.beta)))
        .collect();
    let answer = match said.as_slice() {
        [] => "The replicon of the stable solution is negative at no β shown.".into(),
        said => {
            format!("The replicon of the stable solution is negative for α from {}.", list(said))
        }
    };
    Answer::new("Where is the replica-symmetric answer not to be trusted?", answer)
}

/// ε and replicon of the stable solution.
fn draw_solutions(stable: &[&Solution], betas: &[f64]) -> [Panel; 2] {
    let mut errors = Panel::new(
        "error of the stable solution; dotted: one step",
        Axis::linear("α"),
        Axis::log("ε").lower(1e-14),
    );
    let mut trusted = Panel::new(
        "replicon of the stable solution",
        Axis::linear("α"),
        Axis::linear("λ").range(-6.0, 1.1),
    );
    for (index, &beta) in betas.iter().enumerate() {
        let color = Color::Palette(index);
        let rows: Vec<&Solution> =
            stable.iter().filter(|point| point.beta == beta).copied().collect();
        for (panel, of) in [
            (&mut errors, (|p| p.ln_eps.exp()) as fn(&Solution) -> f64),
            (&mut trusted, |p| p.replicon),
        ] {
            // A jump is no line.
            let pieces = rows.chunk_by(|a, b| a.branch == b.branch);
            for (number, piece) in pieces.enumerate() {
                let x = piece.iter().map(|point| point.alpha).collect();
                let y = piece.iter().map(|point| of(point)).collect();
                let curve = Curve::new(x, y).color(color);
                panel.push(if number == 0 { curve.label(format!("β = {beta}")) } else { curve });
            }
        }
    }
    [errors, trusted]
}

/// ε of the poor branch with one step, in the colours of β.
fn draw_one_step(panel: &mut Panel, curves: &[&BrokenBranches], betas: &[f64]) {
    for both in curves {
        let beta = both.symmetric.rows.first().map(|row| row.beta);
        let Some(color) = betas.iter().position(|other| Some(*other) == beta) else { continue };
        let (color, eps) = (Color::Palette(color), |row: &BrokenRow| row.solution.eps);
        one_step::draw_stable(panel, &both.broken, eps, None, color, Dash::Dotted);
    }
}

fn draw_edges(phases: &BrokenPhases) -> Panel {
    let mut edges =
        Panel::new("where the solutions begin and end", Axis::log("β"), Axis::linear("α"));
    type Edge = (&'static str, Dash, fn(&PhaseRow) -> Option<f64>);
    let lines: [Edge; 3] = [
        ("good from", Dash::Solid, |row| row.good_from),
        ("crossing", Dash::Dashed, |row| row.crossing),
        ("poor until", Dash::Solid, |row| row.poor_until.or(row.corner)),
    ];
    for (color, (name, dash, of)) in lines.into_iter().enumerate() {
        let rows = phases.symmetric.rows.iter();
        let (x, y) = rows.filter_map(|row| Some((row.beta, of(row)?))).unzip();
        edges.push(Curve::new(x, y).label(name).dash(dash).color(Color::Palette(color)).markers());
    }
    type Broken = (&'static str, fn(&BrokenPhaseRow) -> Option<f64>);
    let lines: [Broken; 2] =
        [("crossing, 1RSB", |row| row.crossing), ("poor until, 1RSB", |row| row.poor_until)];
    for (color, (name, of)) in (3..).zip(lines) {
        let (x, y) = phases.broken.rows.iter().filter_map(|row| Some((row.beta, of(row)?))).unzip();
        edges.push(Curve::new(x, y).label(name).color(Color::Palette(color)).markers());
    }
    edges.push(HorizontalLine::new(BINARY).label("binary perceptron, β → ∞"));
    edges
}

#[cfg(test)]
mod tests {
    use remanent_theory::phase::RepliconLine;
    use remanent_theory::solution::Termination;

    use super::*;

    fn answers(good: &[(f64, f64)], transitions: Vec<Transition>) -> Vec<Answer> {
        let at = |beta: f64, crossing: f64| OneStep {
            beta,
            crossing: Some(crossing),
            eps: Some([0.1, 0.01]),
            fold: None,
        };
        let one_step = vec![at(20.0, 1.518), at(200.0, 1.273)];
        match Limit::judge(&Measured { good: good.to_vec(), transitions, one_step }).findings {
            Findings::Answers(answers) => answers,
            Findings::Claims(_) => unreachable!("beyond the paper"),
        }
    }

    fn check(answer: &Answer, outcome: Outcome, texts: &[&str]) {
        assert_eq!(answer.tests[0].outcome, outcome);
        for text in texts {
            assert!(answer.answer.contains(text), "{}", answer.answer);
        }
    }

    #[test]
    fn the_words_follow_the_numbers() {
        let at = |beta, crossing, jump, broken| Transition { beta, crossing, jump, broken };
        let some = || {
            vec![
                at(14.0, None, None, vec![]),
                at(20.0, Some(1.65), Some(0.21), vec![(0.73, 1.65)]),
                at(200.0, Some(2.23), None, vec![(0.46, 2.23)]),
            ]
        };
        let falls = answers(&[(5.0, -2.0), (20.0, -6.0), (200.0, -60.0)], some());
        let late = "not the stable solution there at β = 200";
        check(&falls[0], Outcome::Supported, &["0.135 at β = 5", "it falls with every rise", late]);
        assert_eq!(
            falls[2].answer,
            "The good solution becomes the stable one by a jump at α = 1.650 at β = 20 (ε falls by 0.210) and α = 2.230 at \
             β = 200; there is none at β = 14."
        );
        assert!(
            falls[3].answer.ends_with("from 0.73 to 1.65 at β = 20 and 0.46 to 2.23 at β = 200.")
        );
        let rises = answers(&[(5.0, -2.0), (20.0, -1.0)], vec![at(14.0, None, None, vec![])]);
        check(&rises[0], Outcome::Contradicted, &["it does not fall", "at every β shown"]);
        assert!(rises[2].answer.contains("no jump") && rises[3].answer.contains("at no β shown"));
        check(&answers(&[(5.0, -2.0)], some())[0], Outcome::Undecided, &["is not known"]);
    }

    #[test]
    fn symmetry_is_broken_between_zeros_or_up_to_the_crossing() {
        use Branch::{Good, Middle, Only, Poor};
        let row = |crossing, zeros: &[(f64, Branch)]| PhaseRow {
            beta: 20.0,
            good_from: None,
            crossing,
            poor_until: None,
            corner: None,
            replicon_zeros: zeros
                .iter()
                .map(|&(alpha, branch)| RepliconLine { alpha, branch })
                .collect(),
            quadrature_error: 0.0,
            termination: Termination::Converged,
        };
        let jump = row(Some(1.65), &[(0.73, Poor), (1.9, Poor), (1.5, Middle), (1.5, Good)]);
        assert_eq!(broken(&jump), [(0.73, 1.65)]);
        assert_eq!(broken(&row(None, &[(1.2, Only), (1.4, Only)])), [(1.2, 1.4)]);
        assert_eq!(broken(&row(None, &[])), []);
    }

    #[test]
    fn a_jump_is_read_between_two_loads() {
        let point = |alpha: f64, branch: Branch, eps: f64| Solution {
            ln_eps: eps.ln(),
            ..Solution::none(alpha, 20.0, branch, Termination::NoSolution)
        };
        let points = [
            point(1.6, Branch::Poor, 0.25),
            point(1.7, Branch::Poor, 0.16),
            point(1.6, Branch::Good, 0.04),
            point(1.7, Branch::Good, 0.01),
        ];
        assert!((jump(&points, 20.0, 1.65).unwrap() - (0.2 - 0.02)).abs() < 1e-12);
        assert_eq!(jump(&points, 20.0, 1.8), None);
        assert_eq!(jump(&points, 50.0, 1.65), None);
    }
}
