//! Figure B7: what becomes of the transition as β grows.

use remanent_plot::{Axis, Color, Curve, Dash, Figure, Panel, Table};

use super::solutions::stable_solutions;
use super::words::{also, decides, error, list};
use crate::reproduce::results::{Results, Shown};
use crate::theory::Point;

/// Where the errors are compared.
const ALPHA: f64 = 2.0;

/// Draws and judges it.
pub fn show(results: &Results) -> Option<Shown> {
    let points = results.theory.first()?.as_single()?;
    let phases = results.theory.get(1)?.as_phase_diagram()?;
    let mut betas: Vec<f64> = points.iter().map(|point| point.beta).collect();
    betas.dedup();
    let stable = stable_solutions(points);

    let mut errors =
        Panel::new("error of the stable solution", Axis::linear("α"), Axis::log("ε").lower(1e-14));
    let mut trusted = Panel::new(
        "replicon of the stable solution",
        Axis::linear("α"),
        Axis::linear("λ").range(-6.0, 1.1),
    );
    for (index, &beta) in betas.iter().enumerate() {
        let color = Color::Palette(index);
        let rows: Vec<&Point> = stable.iter().filter(|point| point.beta == beta).copied().collect();
        for (panel, of) in [
            (&mut errors, (|p| p.ln_eps.map(f64::exp)) as fn(&Point) -> Option<f64>),
            (&mut trusted, |p| p.replicon),
        ] {
            // A jump is no line.
            let pieces = rows.chunk_by(|a, b| a.branch == b.branch);
            for (number, piece) in pieces.enumerate() {
                let x = piece.iter().map(|point| point.alpha).collect();
                let y = piece.iter().map(|point| of(point).unwrap_or(f64::NAN)).collect();
                let curve = Curve::new(x, y).color(color);
                panel.push(if number == 0 { curve.label(format!("β = {beta}")) } else { curve });
            }
        }
    }
    let mut edges =
        Panel::new("where the solutions begin and end", Axis::log("β"), Axis::linear("α"));
    type Edge = (&'static str, Dash, fn(&crate::theory::PhaseRow) -> Option<f64>);
    let lines: [Edge; 3] = [
        ("good from", Dash::Solid, |row| row.good_from),
        ("crossing", Dash::Dashed, |row| row.crossing),
        ("poor until", Dash::Solid, |row| row.poor_until.or(row.corner)),
    ];
    for (color, (name, dash, of)) in lines.into_iter().enumerate() {
        let (x, y) = phases.rows.iter().filter_map(|row| Some((row.beta, of(row)?))).unzip();
        edges.push(Curve::new(x, y).label(name).dash(dash).color(Color::Palette(color)).markers());
    }

    let mut table = Table::new(["beta", "alpha", "branch", "stable", "ln_eps", "eps", "replicon"]);
    for point in points {
        let chosen = stable.iter().any(|other| std::ptr::eq(*other, point));
        table.push(vec![
            point.beta.into(),
            point.alpha.into(),
            point.branch.as_str().into(),
            i64::from(chosen).into(),
            point.ln_eps.into(),
            point.eps.into(),
            point.replicon.into(),
        ]);
    }
    // On the good solution, stable or not: where it exists it is the one that a larger α leads to.
    let good = |beta: f64| {
        let same =
            points.iter().filter(|p| p.beta == beta && (p.branch == "good" || p.branch == "only"));
        same.filter(|p| (p.alpha - ALPHA).abs() < 1e-6).find_map(|p| p.ln_eps)
    };
    let ends: Vec<(f64, f64)> =
        betas.iter().filter_map(|&beta| Some((beta, good(beta)?))).collect();
    let (most, least) = *ends.last()?;
    let vanishes = ends.windows(2).all(|pair| pair[1].1 < pair[0].1) && least.exp() < 1e-6;
    let crossings: Vec<(f64, f64)> =
        phases.rows.iter().filter_map(|row| Some((row.beta, row.crossing?))).collect();
    let late: Vec<String> =
        crossings.iter().filter(|c| c.1 > ALPHA).map(|c| format!("β = {}", c.0)).collect();
    let broken: Vec<String> = betas
        .iter()
        .filter_map(|&beta| {
            let bad: Vec<f64> = stable
                .iter()
                .filter(|point| {
                    point.beta == beta && point.replicon.is_some_and(|value| value < 0.0)
                })
                .map(|point| point.alpha)
                .collect();
            Some(format!("{:.2} to {:.2} at β = {beta}", bad.first()?, bad.last()?))
        })
        .collect();
    let said: Vec<String> =
        ends.iter().map(|(beta, ln)| format!("{} at β = {beta}", error(ln.exp()))).collect();
    let jumps = match (crossings.first(), crossings.last()) {
        (Some(first), Some(last)) => format!(
            "the transition is a jump from β = {} on (of the β shown), at α = {:.3} there and at α = {:.3} for β = {}",
            first.0, first.1, last.1, last.0
        ),
        _ => "the transition is continuous at every β shown".into(),
    };
    let trust = if broken.is_empty() {
        "replica symmetry holds on the stable solution".into()
    } else {
        format!("replica symmetry is broken on the stable solution for α from {}", list(&broken))
    };
    Some(Shown {
        figure: Figure::grid(vec![errors, trusted, edges], 2),
        table,
        found: format!("At α = {ALPHA} the error of the good solution is {}; {jumps}; {trust}.", list(&said)),
        checks: vec![
            decides(
                format!("at α = {ALPHA} the error of the good solution falls with every rise of β, to {} at β = {most}", error(least.exp())),
                vanishes,
            ),
            also("the transition is continuous at every β shown", crossings.is_empty()),
            also(
                match late.as_slice() {
                    [] => format!("the good solution is the stable one at α = {ALPHA} for every β shown"),
                    late => format!(
                        "the good solution is the stable one at α = {ALPHA} for every β shown (it is not for {})",
                        list(late)
                    ),
                },
                late.is_empty(),
            ),
            also("the replica-symmetric answer is stable for every α and β shown", broken.is_empty()),
        ],
        notes: vec![
            "That the transition is continuous rests on the published curve at β = 20; figure 3a shows how far that is from the \
             exact one, and figure B1 up to which β there is no jump."
                .into(),
        ],
    })
}
