//! Trapezoid grids that are dense where an integrand changes quickly.
//!
//! The trapezoid rule converges exponentially for an analytic integrand that
//! vanishes at both ends, if the variable is chosen so that the integrand is
//! smooth on the scale of one step. Here the variable is
//!
//! ```text
//! t(x) = x / spacing + Σ_i f_i asinh((x − c_i) / s_i) / step
//! ```
//!
//! a monotone function: far from the clusters the nodes are `spacing` apart,
//! near a cluster c_i they are about `step · s_i / f_i` apart, and between the two
//! the distance grows in proportion to |x − c_i|. Refining a grid means
//! dividing `spacing` and `step` by the same factor.

use crate::{elementary, multiversioned};

/// A region where the integrand varies on a smaller scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// The centre.
    pub centre: f64,
    /// The extent.
    pub scale: f64,
    /// How many times denser than usual its nodes are: `step · scale / strength` apart.
    pub strength: f64,
}

/// A quadrature rule: ∫ f ≈ Σ weights · f(x).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nodes {
    /// The abscissae, rising.
    pub x: Vec<f64>,
    /// The weights.
    pub weights: Vec<f64>,
}

/// The distribution of the nodes of a grid.
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
    /// dt/dx.
    fn density(&self, x: f64) -> f64 {
        let clustered: f64 = self
            .clusters
            .iter()
            .map(|c| c.strength / ((x - c.centre) * (x - c.centre) + c.scale * c.scale).sqrt())
            .sum();
        1.0 / self.spacing + clustered / self.step
    }

    /// t(x).
    fn coordinate(&self, x: f64) -> f64 {
        let clustered: f64 =
            self.clusters.iter().map(|c| c.strength * ((x - c.centre) / c.scale).asinh()).sum();
        x / self.spacing + clustered / self.step
    }

    /// The nodes between `low` and `high`, in rising order.
    pub fn nodes(&self, low: f64, high: f64) -> Nodes {
        let (first, last) = (self.coordinate(low).ceil(), self.coordinate(high).floor());
        let count = (last - first).max(-1.0) as usize + usize::from(last >= first);
        let mut x = Vec::with_capacity(count);
        // A first guess by the midpoint rule for dx/dt = 1/density, from node to node.
        let mut here = low;
        let mut step = (first - self.coordinate(low)) / self.density(low);
        for _ in 0..count {
            here += step;
            x.push(here);
            let half = here + 0.5 / self.density(here);
            step = 1.0 / self.density(half);
        }
        let mut weights = vec![0.0; count];
        refine(self.spacing, self.step, self.clusters, first, &mut x, &mut weights);
        Nodes { x, weights }
    }
}

multiversioned! {
    /// Newton's method for t(x_j) = first + j, all nodes at once. The guesses are
    /// within a fraction of a step, and t is smooth on the scale of a step, so a
    /// fixed number of iterations reaches rounding.
    fn refine(
        spacing: f64,
        step: f64,
        clusters: &[Cluster],
        first: f64,
        x: &mut [f64],
        weights: &mut [f64],
    ) {
        let mut t = vec![0.0; x.len()];
        for _ in 0..5 {
            for i in 0..x.len() {
                t[i] = x[i] / spacing - (first + i as f64);
                weights[i] = 1.0 / spacing;
            }
            for c in clusters {
                let (inverse_scale, inverse_step) = (1.0 / c.scale, c.strength / step);
                for i in 0..x.len() {
                    let u = (x[i] - c.centre) * inverse_scale;
                    let root = (u * u + 1.0).sqrt();
                    t[i] += elementary::ln(u.abs() + root).copysign(u) * inverse_step;
                    weights[i] += inverse_step * inverse_scale / root;
                }
            }
            for i in 0..x.len() {
                weights[i] = 1.0 / weights[i];
                x[i] -= t[i] * weights[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_lie_at_equal_steps_of_the_coordinate() {
        let clusters = [
            Cluster { centre: 0.0, scale: 1.0, strength: 1.0 },
            Cluster { centre: 52.0, scale: 7.0, strength: 1.0 },
        ];
        let spread = Spread { spacing: 20.0, step: 0.4, clusters: &clusters };
        let nodes = spread.nodes(-150.0, 480.0);
        let t: Vec<f64> = nodes.x.iter().map(|x| spread.coordinate(*x)).collect();
        assert!(t.iter().all(|t| (t - t.round()).abs() < 1e-10));
        assert!(t.windows(2).all(|w| (w[1] - w[0] - 1.0).abs() < 1e-10));
    }

    fn integrate(spread: &Spread, low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
        let nodes = spread.nodes(low, high);
        nodes.x.iter().zip(&nodes.weights).map(|(x, w)| w * f(*x)).sum()
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
        let clusters = [Cluster { centre: 0.0, scale: 1e-3, strength: 1.0 }];
        let coarse = Spread { spacing: 0.6, step: 0.14, clusters: &clusters };
        let fine = Spread { spacing: 0.06, step: 0.014, clusters: &clusters };
        let (a, b) = (integrate(&coarse, -9.5, 9.5, f), integrate(&fine, -9.5, 9.5, f));
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
}
