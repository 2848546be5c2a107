//! Trapezoid grids that are dense where an integrand changes quickly.
//!
//! The trapezoid rule converges exponentially for an analytic integrand that
//! vanishes at both ends, if the variable is chosen so that the integrand is
//! smooth on the scale of one step. Here the variable is
//!
//! ```text
//! t(x) = x / spacing + Σ_i asinh((x − c_i) / s_i) / step
//! ```
//!
//! a monotone function: far from the clusters the nodes are `spacing` apart,
//! near a cluster c_i they are about `step · s_i` apart, and between the two
//! the distance grows in proportion to |x − c_i|. Refining a grid means
//! dividing `spacing` and `step` by the same factor.

use crate::elementary;

/// A place where the integrand varies on a scale of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// Where it is.
    pub centre: f64,
    /// On what scale the integrand changes there.
    pub scale: f64,
}

/// A node of a quadrature rule: ∫ f ≈ Σ weight · f(x).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// The abscissa.
    pub x: f64,
    /// The weight.
    pub weight: f64,
}

/// How the nodes of a grid are spread.
#[derive(Clone, Copy, Debug)]
pub struct Spread<'a> {
    /// Largest distance between nodes.
    pub spacing: f64,
    /// Distance between nodes in units of a cluster's scale.
    pub step: f64,
    /// The clusters; may be empty.
    pub clusters: &'a [Cluster],
}

impl Spread<'_> {
    /// t(x) and dt/dx.
    fn coordinate(&self, x: f64) -> (f64, f64) {
        let (mut t, mut density) = (0.0, 0.0);
        for c in self.clusters {
            let u = (x - c.centre) / c.scale;
            let root = (u * u + 1.0).sqrt();
            t += elementary::ln(u.abs() + root).copysign(u);
            density += 1.0 / (root * c.scale);
        }
        (x / self.spacing + t / self.step, 1.0 / self.spacing + density / self.step)
    }

    /// Writes the nodes between `low` and `high` into `nodes`, in rising order.
    pub fn nodes(&self, low: f64, high: f64, nodes: &mut Vec<Node>) {
        nodes.clear();
        let (mut x, (mut t, mut density)) = (low, self.coordinate(low));
        let last = self.coordinate(high).0.floor();
        let mut target = t.ceil();
        let mut dx = (target - t) / density;
        while target <= last {
            // Newton's method from the node before; t(x) is smooth on the scale of a step.
            for _ in 0..60 {
                x = (x + dx).clamp(low, high);
                (t, density) = self.coordinate(x);
                dx = (target - t) / density;
                if (target - t).abs() <= 1e-11 {
                    break;
                }
            }
            nodes.push(Node { x, weight: 1.0 / density });
            target += 1.0;
            dx += 1.0 / density;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integrate(spread: &Spread, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
        let mut nodes = Vec::new();
        spread.nodes(low, high, &mut nodes);
        nodes.iter().map(|n| n.weight * f(n.x)).sum()
    }

    #[test]
    fn a_gaussian_needs_no_cluster() {
        let spread = Spread { spacing: 0.6, step: 0.16, clusters: &[] };
        let total = integrate(&spread, -9.5, 9.5, |x| (-0.5 * x * x).exp());
        assert!((total - (2.0 * std::f64::consts::PI).sqrt()).abs() < 1e-14);
    }

    #[test]
    fn a_narrow_switch_inside_a_wide_gaussian_is_resolved() {
        // ∫ Dx sech²(x / s) with s = 1e-3, against a grid ten times finer.
        let f = |x: f64| (-0.5 * x * x).exp() / (x * 1e3).cosh().powi(2);
        let clusters = [Cluster { centre: 0.0, scale: 1e-3 }];
        let coarse = Spread { spacing: 0.6, step: 0.14, clusters: &clusters };
        let fine = Spread { spacing: 0.06, step: 0.014, clusters: &clusters };
        let (a, b) = (integrate(&coarse, -9.5, 9.5, f), integrate(&fine, -9.5, 9.5, f));
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
}
