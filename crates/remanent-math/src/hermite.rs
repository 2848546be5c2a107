//! Gauss–Hermite quadrature over the standard Gaussian measure.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The n-point rule ∫Dy f(y) ≈ Σ w_k f(y_k), exact for polynomials of degree 2n − 1, and the derivative of the
/// polynomial of degree n − 1 through values at its nodes.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The nodes y_k, in rising order.
    pub nodes: Vec<f64>,
    /// The weights w_k; their sum is 1.
    pub weights: Vec<f64>,
    /// Row k: the weights of the values in the derivative at y_k.
    derivative: Vec<f64>,
}

/// The orthonormal Hermite polynomials of degree n − 1 and n at y, and Σ_{k<n} h_k².
fn polynomials(n: usize, y: f64) -> (f64, f64, f64) {
    let (mut before, mut here, mut squares) = (0.0, 1.0, 0.0);
    for k in 0..n {
        squares += here * here;
        let k = k as f64;
        (before, here) = (here, (y * here - k.sqrt() * before) / (k + 1.0).sqrt());
    }
    (before, here, squares)
}

/// The zero of h_n between two numbers, by Newton's method kept inside by bisection.
fn zero(n: usize, mut low: f64, mut high: f64) -> f64 {
    let sign = polynomials(n, low).1.signum();
    let mut y = 0.5 * (low + high);
    for _ in 0..100 {
        let (before, here, _) = polynomials(n, y);
        if here * sign > 0.0 {
            low = y;
        } else {
            high = y;
        }
        let newton = y - here / ((n as f64).sqrt() * before);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - y).abs() <= 1e-15 * (1.0 + y.abs()) {
            return next;
        }
        y = next;
    }
    y
}

impl Rule {
    /// The rule with n ≥ 1 nodes.
    pub fn new(n: usize) -> Self {
        // The zeros of one degree lie between those of the degree below.
        let mut nodes = vec![0.0];
        for degree in 2..=n {
            let bound = (4.0 * degree as f64 + 2.0).sqrt();
            let ends: Vec<f64> = [-bound].into_iter().chain(nodes).chain([bound]).collect();
            nodes = ends.windows(2).map(|w| zero(degree, w[0], w[1])).collect();
        }
        let weights = nodes.iter().map(|y| 1.0 / polynomials(n, *y).2).collect();
        let derivative = derivative(&nodes);
        Self { nodes, weights, derivative }
    }

    /// The same rule, computed once in a process.
    pub fn shared(n: usize) -> Arc<Self> {
        static RULES: LazyLock<Mutex<HashMap<usize, Arc<Rule>>>> = LazyLock::new(Mutex::default);
        let mut rules = RULES.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(rules.entry(n).or_insert_with(|| Arc::new(Self::new(n))))
    }

    /// The derivative, at node k, of the polynomial with these values at the nodes.
    pub fn derivative_at(&self, k: usize, values: impl Fn(usize) -> f64) -> f64 {
        let n = self.nodes.len();
        let row = &self.derivative[k * n..(k + 1) * n];
        // A constant has none: the value at the node itself drops out.
        let here = values(k);
        row.iter().enumerate().map(|(j, d)| d * (values(j) - here)).sum()
    }
}

/// The matrix of the derivative of the interpolating polynomial, without its diagonal.
fn derivative(nodes: &[f64]) -> Vec<f64> {
    let n = nodes.len();
    let others = |k: usize| (0..n).filter(move |j| *j != k);
    let product = |k: usize| others(k).map(|j| nodes[k] - nodes[j]).product::<f64>();
    let products: Vec<f64> = (0..n).map(product).collect();
    let mut matrix = vec![0.0; n * n];
    for k in 0..n {
        for j in others(k) {
            matrix[k * n + j] = products[k] / products[j] / (nodes[k] - nodes[j]);
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_for_polynomials_of_degree_2n_minus_1() {
        for n in [1, 2, 7, 12, 24] {
            let rule = Rule::new(n);
            // ∫Dy y^d = (d − 1)!!.
            let mut moment = 1.0;
            for degree in (0..2 * n).step_by(2) {
                let sum: f64 = rule
                    .nodes
                    .iter()
                    .zip(&rule.weights)
                    .map(|(y, w)| w * y.powi(degree as i32))
                    .sum();
                assert!((sum / moment - 1.0).abs() < 1e-12, "{n} {degree} {sum} {moment}");
                moment *= degree as f64 + 1.0;
            }
        }
    }

    #[test]
    fn differentiates_polynomials() {
        let rule = Rule::new(12);
        for (k, y) in rule.nodes.iter().enumerate() {
            let found = rule.derivative_at(k, |j| (0.3 * rule.nodes[j]).sin());
            assert!((found - 0.3 * (0.3 * y).cos()).abs() < 1e-7, "{y} {found}");
            let cubic = rule.derivative_at(k, |j| rule.nodes[j].powi(3));
            assert!((cubic - 3.0 * y * y).abs() < 1e-10 * (1.0 + y * y));
        }
    }
}
