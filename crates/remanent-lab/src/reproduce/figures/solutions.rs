//! Which of several solutions of the theory is the stable one, and how both are drawn.

use remanent_plot::{Color, Curve, Dash, Panel};
use remanent_theory::parameters::Choice;
use remanent_theory::single::SingleTask;

use crate::theory::{Branches, Point};

/// Whether a solution is the stable one of its curve: on the poor side of the crossing the poor one, on
/// the other side the good one.
pub fn is_stable(curve: &Branches, point: &Point) -> bool {
    let Some(crossing) = &curve.crossing else { return true };
    match point.branch.as_str() {
        "poor" => point.alpha < crossing.alpha,
        "good" => point.alpha >= crossing.alpha,
        "middle" => false,
        _ => true,
    }
}

/// By how much ε falls where the poor and the good solution exchange stability; 0 if they never do, none if
/// there is no error on one side.
pub fn jump(curve: &Branches) -> Option<f64> {
    match &curve.crossing {
        Some(crossing) => Some(crossing.poor.eps? - crossing.good.eps?),
        None => Some(0.0),
    }
}

/// ε of the stable solution; none if there is no solution.
pub fn stable_error(beta: f64, alpha: f64) -> Option<f64> {
    let solution = SingleTask::new(beta).ok()?.solve(alpha, Choice::Stable).ok()?;
    Some(solution.eps).filter(|eps| solution.is_converged() && eps.is_finite())
}

/// Draws a quantity along the curve of solutions: a line where the solution is stable, a thin broken one
/// where it is not. Nothing is drawn across the jump.
pub fn draw(
    panel: &mut Panel,
    curve: &Branches,
    of: impl Fn(&Point) -> Option<f64>,
    [stable, other]: [Option<String>; 2],
    color: Color,
) {
    let line = |wanted: &dyn Fn(&Point) -> bool, label: &Option<String>| {
        let value = |p: &Point| of(p).filter(|_| wanted(p)).unwrap_or(f64::NAN);
        let (x, y) = curve.rows.iter().map(|p| (p.alpha, value(p))).unzip();
        let line = Curve::new(x, y).color(color);
        match label {
            Some(label) => line.label(label.as_str()),
            None => line,
        }
    };
    panel.push(line(&|p| !is_stable(curve, p), &other).dash(Dash::Dashed).width(1.2));
    panel.push(line(&|p| is_stable(curve, p) && p.branch != "good", &stable));
    panel.push(line(&|p| is_stable(curve, p) && p.branch == "good", &None));
}

/// Of the solutions at each α and β that of largest −βf, saddles left out.
pub fn stable_solutions(points: &[Point]) -> Vec<&Point> {
    let mut stable: Vec<&Point> = Vec::new();
    let candidates =
        points.iter().filter(|point| point.branch != "middle" && point.minus_beta_f.is_some());
    for point in candidates {
        match stable.last_mut() {
            Some(last) if last.beta == point.beta && last.alpha == point.alpha => {
                if point.minus_beta_f > last.minus_beta_f {
                    *last = point;
                }
            }
            _ => stable.push(point),
        }
    }
    stable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::Crossing;

    fn eps(eps: f64) -> Point {
        Point { eps: Some(eps), ..Point::default() }
    }

    #[test]
    fn a_jump_is_what_the_error_loses_at_the_crossing() {
        let crossing = |poor, good| Crossing {
            alpha: 1.6,
            minus_beta_f: 0.0,
            poor,
            good,
            replica_symmetry_holds: true,
        };
        let mut curve = Branches {
            rows: Vec::new(),
            folds: Vec::new(),
            crossing: None,
            replicon_zeros: Vec::new(),
            corner: None,
        };
        assert_eq!(jump(&curve), Some(0.0));
        curve.crossing = Some(crossing(eps(0.25), eps(0.125)));
        assert_eq!(jump(&curve), Some(0.125));
        curve.crossing = Some(crossing(eps(0.25), Point::default()));
        assert_eq!(jump(&curve), None);
    }

    #[test]
    fn the_stable_error_falls_with_alpha_and_does_not_exist_everywhere() {
        let [few, many] = [0.5, 3.0].map(|alpha| stable_error(5.0, alpha).unwrap());
        assert!(0.0 < many && many < few && few < 0.5, "{many} {few}");
        assert_eq!(stable_error(5.0, -1.0), None);
    }

    #[test]
    fn of_two_solutions_the_one_of_larger_free_energy_is_stable() {
        let point = |alpha: f64, branch: &str, value: f64| Point {
            alpha,
            branch: branch.into(),
            minus_beta_f: Some(value),
            ..Point::default()
        };
        let points = [
            point(1.0, "only", 0.3),
            point(1.6, "poor", 0.2),
            point(1.6, "middle", 0.9),
            point(1.6, "good", 0.1),
            point(1.7, "poor", 0.1),
            point(1.7, "good", 0.2),
        ];
        let found: Vec<&str> =
            stable_solutions(&points).iter().map(|point| point.branch.as_str()).collect();
        assert_eq!(found, ["only", "poor", "good"]);
    }
}
