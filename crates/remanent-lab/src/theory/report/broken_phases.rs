//! What is shown of `theory phase-diagram --rsb 1`.

use remanent_plot::{
    Axis, Cell, Color, Curve, Dash, Figure, Marker, Note, Panel, Points, Side, Table,
};
use remanent_theory::phase::PhaseRow;
use remanent_theory::rsb::{BrokenPhaseRow, PhasePoint};

use super::Conclusion;
use crate::experiment::Detail;
use crate::theory::BrokenPhases;

/// The special points, with what they are.
fn special(phases: &BrokenPhases) -> [(&'static str, Option<PhasePoint>); 3] {
    [
        ("first breaking", phases.broken.first_breaking),
        ("jump begins", phases.broken.end_of_jump),
        ("onset jumps", phases.broken.discontinuous_onset),
    ]
}

pub(super) fn conclusion(phases: &BrokenPhases) -> Conclusion {
    let mut conclusion = Conclusion::default();
    for (name, point) in special(phases) {
        if point.is_none() {
            conclusion.note(format!("not found in the given range of beta: {name}"));
        }
    }
    conclusion
}

pub(super) fn tables(phases: &BrokenPhases, detail: Detail) -> Vec<Table> {
    let mut table = Table::new([
        "beta",
        "dynamical",
        "condensation",
        "onset",
        "onset_x",
        "lambda_1_zeros",
        "lambda_0_zeros",
        "good_from",
        "crossing",
        "poor_until",
        "closing",
        "closing_branch",
    ]);
    let cell = |v: Option<f64>| v.map_or(Cell::Missing, Cell::Number);
    let list = |values: &[f64]| match values {
        [] => Cell::Missing,
        values => {
            let texts: Vec<String> = values.iter().map(|v| format!("{v:.6}")).collect();
            Cell::Text(texts.join(" "))
        }
    };
    for row in &phases.broken.rows {
        table.push(vec![
            Cell::Number(row.beta),
            cell(row.dynamical),
            cell(row.condensation),
            cell(row.onset),
            cell(row.onset_x),
            list(&row.inner_instability),
            list(&row.outer_instability),
            cell(row.good_from),
            cell(row.crossing),
            cell(row.poor_until),
            cell(row.closing),
            row.closing_branch.map_or(Cell::Missing, |b| Cell::Text(b.to_string())),
        ]);
    }
    if detail == Detail::Full {
        return vec![table];
    }
    let mut points = Table::new(["point", "alpha", "beta"]);
    for (name, point) in special(phases) {
        if let Some(p) = point {
            points.push(vec![Cell::Text(name.into()), Cell::Number(p.alpha), Cell::Number(p.beta)]);
        }
    }
    vec![table, points]
}

/// The phase diagram with one step as a figure of its own.
pub fn broken_phase_figure(phases: &BrokenPhases) -> Figure {
    let top = phases.broken.rows.iter().map(|r| r.beta).fold(0.0, f64::max);
    let named = annotated(phases).filter(|_| top >= HIGHEST_NAME);
    Figure::single(named.unwrap_or_else(|| broken_phase_panel(phases)))
}

/// Names stand beside the lines up to this β.
const HIGHEST_NAME: f64 = 150.0;

/// A line of the diagram.
struct Line {
    label: &'static str,
    color: Color,
    dash: Dash,
    width: f64,
    /// Pairs of α and β, by rising β; α may be missing.
    at: Vec<(f64, f64)>,
}

impl Line {
    /// α of the line at a β between two of its points.
    fn alpha(&self, beta: f64) -> Option<f64> {
        let found =
            self.at.windows(2).find(|w| w[0].1 <= beta && beta <= w[1].1 && w[0].1 < w[1].1)?;
        let share = (beta / found[0].1).ln() / (found[1].1 / found[0].1).ln();
        let alpha = found[0].0 + share * (found[1].0 - found[0].0);
        alpha.is_finite().then_some(alpha)
    }

    fn curve(&self) -> Curve {
        let (xs, ys) = self.at.iter().copied().unzip();
        Curve::new(xs, ys).color(self.color).dash(self.dash).width(self.width)
    }
}

/// The lines of replica symmetry, for comparison.
fn symmetric_lines(phases: &BrokenPhases) -> Vec<Line> {
    let line = |label, color, dash, width, alpha: fn(&PhaseRow) -> Option<f64>| {
        let start = phases.symmetric.critical_point.map(|c| (c.alpha, c.beta));
        let rows = phases.symmetric.rows.iter();
        let rest = rows.filter_map(|r| alpha(r).map(|alpha| (alpha, r.beta)));
        Line { label, color, dash, width, at: start.into_iter().chain(rest).collect() }
    };
    vec![
        line("RS crossing", Color::GREY, Dash::Dotted, 1.3, |r| r.crossing),
        line("RS poor ends", Color::GREY, Dash::Dashed, 1.3, |r| r.poor_until),
        line("good begins", Color::Palette(2), Dash::Dashed, 1.6, |r| r.good_from),
    ]
}

/// All lines that have at least two points.
fn lines(phases: &BrokenPhases) -> Vec<Line> {
    let broken = &phases.broken;
    let from = |start: Option<PhasePoint>, alpha: &dyn Fn(&BrokenPhaseRow) -> Option<f64>| {
        let above = |r: &&BrokenPhaseRow| start.is_none_or(|p| r.beta > p.beta);
        let rows = broken.rows.iter().filter(above);
        let rest = rows.map(|r| (alpha(r).unwrap_or(f64::NAN), r.beta));
        start.map(|p| (p.alpha, p.beta)).into_iter().chain(rest).collect::<Vec<_>>()
    };
    let (first, jump, tri) =
        (broken.first_breaking, broken.end_of_jump, broken.discontinuous_onset);
    // The onset is continuous below the tricritical point, and not the transition above it.
    let is_below = |r: &BrokenPhaseRow| r.onset_x.is_some_and(|x| x <= 1.0);
    let mut onset = from(first, &|r| r.onset.filter(|_| is_below(r)));
    onset.retain(|p| p.0.is_finite());
    onset.extend(tri.map(|p| (p.alpha, p.beta)));
    let above = |alpha: Option<f64>, r: &BrokenPhaseRow| alpha.filter(|_| !is_below(r));
    let mut closing = from(first, &|r| r.closing);
    closing.retain(|p| p.0.is_finite() && jump.is_none_or(|j| p.1 < j.beta));
    closing.extend(jump.map(|p| (p.alpha, p.beta)));
    let line = |label, color, dash, width, at| Line {
        label,
        color: Color::Palette(color),
        dash,
        width,
        at,
    };
    let mut all = symmetric_lines(phases);
    all.extend([
        line("onset", 0, Dash::Solid, 2.2, onset),
        line("onset, x = 1", 1, Dash::Solid, 2.2, from(tri, &|r| above(r.condensation, r))),
        line("dynamical", 3, Dash::Solid, 1.8, from(tri, &|r| above(r.dynamical, r))),
        line("replicon zero", 0, Dash::Dotted, 1.6, from(tri, &|r| above(r.onset, r))),
        line("gap closes", 5, Dash::Solid, 2.2, closing),
        line("crossing", 6, Dash::Solid, 2.4, from(jump, &|r| r.crossing)),
        line("poor ends", 4, Dash::Solid, 1.8, from(jump, &|r| r.poor_until)),
    ]);
    all.retain(|line| line.at.iter().filter(|p| p.0.is_finite()).count() > 1);
    all
}

const MARKERS: [Marker; 3] = [Marker::Triangle, Marker::Diamond, Marker::Square];

/// All lines of a phase diagram with one step in the plane of α and β, named in a legend.
pub fn broken_phase_panel(phases: &BrokenPhases) -> Panel {
    let largest = phases
        .broken
        .rows
        .iter()
        .filter_map(|r| r.closing.into_iter().chain(r.poor_until).reduce(f64::max));
    let reach = largest.fold(1.6, f64::max) + 0.45;
    let mut panel = Panel::new("", Axis::linear("α").range(0.3, reach), Axis::log("β"));
    for line in lines(phases) {
        panel.push(line.curve().label(line.label));
    }
    for ((name, point), marker) in special(phases).into_iter().zip(MARKERS) {
        if let Some(p) = point {
            panel.push(
                Points::new(vec![p.alpha], vec![p.beta])
                    .color(Color::Palette(6))
                    .marker(marker)
                    .label(format!("{name} {:.3}, {:.2}", p.alpha, p.beta)),
            );
        }
    }
    panel
}

/// The same as one large panel whose lines, points and regions are named where they are; `None` if a special
/// point is missing and the names would have no place.
fn annotated(phases: &BrokenPhases) -> Option<Panel> {
    let points: Vec<(&str, PhasePoint)> =
        special(phases).into_iter().map(|(name, p)| Some((name, p?))).collect::<Option<_>>()?;
    let top = phases.broken.rows.iter().map(|r| r.beta).fold(0.0, f64::max);
    let (x, y) = (Axis::linear("α").range(0.0, 2.15), Axis::log("β").range(8.0, 1.06 * top));
    let mut panel = Panel::new("", x, y).size(640.0, 460.0);
    let lines = lines(phases);
    for line in &lines {
        panel.push(line.curve());
    }
    // Each name stands beside its line at a β where nothing else is near.
    let names = [
        ("onset", 17.0, Side::Left, "λ = 0: symmetry breaks"),
        ("dynamical", 150.0, Side::Left, "clusters are born"),
        ("onset, x = 1", 62.0, Side::Left, "clusters condense"),
        ("replicon zero", 130.0, Side::Right, "λ = 0"),
        ("good begins", 70.0, Side::Left, "good branch begins"),
        ("crossing", 120.0, Side::Left, "crossing"),
        ("poor ends", 90.0, Side::Right, "poor branch ends"),
        ("gap closes", 12.7, Side::Right, "gap closes"),
        ("RS crossing", 48.0, Side::Left, "crossing (RS)"),
        ("RS poor ends", 17.9, Side::Right, "poor ends (RS)"),
    ];
    for (label, beta, side, text) in names {
        let Some(line) = lines.iter().find(|line| line.label == label) else { continue };
        let Some(alpha) = line.alpha(beta) else { continue };
        let aside = match (label, side) {
            // Nearly horizontal: the name stands below.
            ("RS poor ends", _) => 0.1,
            (_, Side::Left) => -0.025,
            _ => 0.025,
        };
        panel.push(Note::new(alpha + aside, beta, text).color(line.color).side(side));
    }
    let places = [(0.0, 0.86, Side::Middle), (0.05, 0.9, Side::Right), (-0.03, 0.94, Side::Left)];
    for (((name, p), marker), (aside, below, side)) in points.into_iter().zip(MARKERS).zip(places) {
        panel
            .push(Points::new(vec![p.alpha], vec![p.beta]).color(Color::Palette(6)).marker(marker));
        let text = format!("{name}\n({:.3}, {:.2})", p.alpha, p.beta);
        panel.push(Note::new(p.alpha + aside, below * p.beta, text).side(side));
    }
    for (alpha, beta, text) in [
        (0.3, 11.0, "one state\n(replica symmetry)"),
        (0.95, 26.0, "clusters\n(one step of breaking)"),
        (1.83, 160.0, "good state"),
    ] {
        panel.push(Note::new(alpha, beta, text).color(Color::GREY).side(Side::Middle));
    }
    Some(panel)
}
