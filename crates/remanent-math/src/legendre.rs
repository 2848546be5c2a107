//! Gauss–Legendre quadrature.

/// The nodes and weights of the N-point rule on [−1, 1], in rising order.
pub fn rule<const N: usize>() -> ([f64; N], [f64; N]) {
    let (mut nodes, mut weights) = ([0.0; N], [0.0; N]);
    for i in 0..N {
        let angle = std::f64::consts::PI * (i as f64 + 0.75) / (N as f64 + 0.5);
        let mut x = -angle.cos();
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut p, mut previous) = (x, 1.0);
            for k in 2..=N {
                let k = k as f64;
                (p, previous) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * previous) / k, p);
            }
            slope = N as f64 * (x * p - previous) / (x * x - 1.0);
            let change = p / slope;
            x -= change;
            if change.abs() < 1e-16 {
                break;
            }
        }
        nodes[i] = x;
        weights[i] = 2.0 / ((1.0 - x * x) * slope * slope);
    }
    (nodes, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_for_polynomials_of_degree_2n_minus_1() {
        let (nodes, weights) = rule::<16>();
        for degree in 0..32 {
            let sum: f64 = nodes.iter().zip(&weights).map(|(x, w)| w * x.powi(degree)).sum();
            let exact = if degree % 2 == 0 { 2.0 / f64::from(degree + 1) } else { 0.0 };
            assert!((sum - exact).abs() < 1e-14, "{degree}");
        }
    }
}
