//! Which of several solutions of the theory is the stable one, and how both are drawn.

use remanent_plot::{Color, Curve, Dash, Panel};
use remanent_theory::branches::Branches;
use remanent_theory::curve::Branch;
use remanent_theory::parameters::Choice;
use remanent_theory::single::SingleTask;
use remanent_theory::solution::Solution;

use remanent_lab::theory::known;

/// Whether a solution is the stable one of its curve: on the poor side of the crossing the poor one, on
/// the other side the good one.
pub fn is_stable(curve: &Branches, point: &Solution) -> bool {
    let Some(crossing) = &curve.crossing else { return true };
    match point.branch {
        Branch::Poor => point.alpha < crossing.alpha,
        Branch::Good => point.alpha >= crossing.alpha,
        Branch::Middle => false,
        Branch::Only => true,
    }
}

/// By how much ε falls where the poor and the good solution exchange stability; 0 if they never do, none if
/// there is no error on one side.
pub fn jump(curve: &Branches) -> Option<f64> {
    match &curve.crossing {
        Some(crossing) => Some(known(crossing.poor.eps)? - known(crossing.good.eps)?),
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
    of: impl Fn(&Solution) -> f64,
    [stable, other]: [Option<String>; 2],
    color: Color,
) {
    let line = |wanted: &dyn Fn(&Solution) -> bool, label: &Option<String>| {
        let value = |p: &Solution| if wanted(p) { of(p) } else { f64::NAN };
        let (x, y) = curve.rows.iter().map(|p| (p.alpha, value(p))).unzip();
        let line = Curve::new(x, y).color(color);
        match label {
            Some(label) => line.label(label.as_str()),
            None => line,
        }
    };
    panel.push(line(&|p| !is_stable(curve, p), &other).dash(Dash::Dashed).width(1.2));
    panel.push(line(&|p| is_stable(curve, p) && p.branch != Branch::Good, &stable));
    panel.push(line(&|p| is_stable(curve, p) && p.branch == Branch::Good, &None));
}

/// Of the solutions at each α and β that of largest −βf, saddles left out.
pub fn stable_solutions(points: &[Solution]) -> Vec<&Solution> {
    let mut stable: Vec<&Solution> = Vec::new();
    let candidates = points
        .iter()
        .filter(|point| point.branch != Branch::Middle && point.minus_beta_f.is_finite());
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
    use remanent_theory::branches::Crossing;
    use remanent_theory::solution::Termination;

    use super::*;

    fn none(alpha: f64, branch: Branch) -> Solution {
        Solution::none(alpha, 20.0, branch, Termination::NoSolution)
    }

    fn eps(eps: f64) -> Solution {
        Solution { eps, ..none(1.6, Branch::Only) }
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
        let mut curve = Branches::default();
        assert_eq!(jump(&curve), Some(0.0));
        curve.crossing = Some(crossing(eps(0.25), eps(0.125)));
        assert_eq!(jump(&curve), Some(0.125));
        curve.crossing = Some(crossing(eps(0.25), eps(f64::NAN)));
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
        let point = |alpha: f64, branch: Branch, minus_beta_f: f64| Solution {
            minus_beta_f,
            ..none(alpha, branch)
        };
        let points = [
            point(1.0, Branch::Only, 0.3),
            point(1.6, Branch::Poor, 0.2),
            point(1.6, Branch::Middle, 0.9),
            point(1.6, Branch::Good, 0.1),
            point(1.7, Branch::Poor, 0.1),
            point(1.7, Branch::Good, 0.2),
        ];
        let found: Vec<Branch> = stable_solutions(&points).iter().map(|p| p.branch).collect();
        assert_eq!(found, [Branch::Only, Branch::Poor, Branch::Good]);
    }
}
