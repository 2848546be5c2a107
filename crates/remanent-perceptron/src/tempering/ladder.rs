//! The ladder of inverse temperatures: its first guess, and the rule that places it.
//!
//! Energies of neighbouring temperatures are nearly Gaussian with the same σ, and their means differ
//! by Δβ σ². An exchange is then accepted with probability A = erfc(s/2), s = Δβ σ, and s is the
//! distance of the two temperatures in units of energy fluctuations. The rule: measure A of every
//! pair, take s = −√2 Φ⁻¹(A/2), and place the temperatures at equal distances along the ladder, as
//! many as are needed for the target acceptance.

use remanent_math::normal;

/// The acceptance of exchanges that the rule aims at.
pub const WANTED_EXCHANGE: f64 = 0.3;

/// The most temperatures of a ladder.
pub const MOST_TEMPERATURES: usize = 512;

/// The first guess: geometric, for energy fluctuations of √(N/2)/β.
pub fn first(low: f64, high: f64, sites: usize, count: Option<usize>) -> Vec<f64> {
    let length = (0.5 * sites as f64).sqrt() * (high / low).ln();
    let count = count.unwrap_or_else(|| needed(length));
    (0..count).map(|k| low * (high / low).powf(k as f64 / (count - 1) as f64)).collect()
}

/// The ladder with rungs at equal distances between the ends of `betas`. `acceptance` is the mean
/// acceptance of exchanges of neighbours.
pub fn placed(betas: &[f64], acceptance: &[f64], count: Option<usize>) -> Vec<f64> {
    let mut along = vec![0.0];
    for &a in acceptance {
        along.push(along[along.len() - 1] + distance(a));
    }
    let length = along[along.len() - 1];
    let count = count.unwrap_or_else(|| needed(length));
    let last = betas.len() - 1;
    (0..count)
        .map(|k| {
            if k + 1 == count {
                return betas[last];
            }
            let wanted = length * k as f64 / (count - 1) as f64;
            let right = along.partition_point(|&x| x <= wanted).clamp(1, last);
            let part = (wanted - along[right - 1]) / (along[right] - along[right - 1]);
            betas[right - 1] + part * (betas[right] - betas[right - 1])
        })
        .collect()
}

/// The distance s of two temperatures that exchange with this acceptance. Kept finite where an
/// exchange was always, or never, accepted.
fn distance(acceptance: f64) -> f64 {
    -std::f64::consts::SQRT_2 * normal::quantile(0.5 * acceptance.clamp(1e-4, 0.99))
}

fn needed(length: f64) -> usize {
    ((length / distance(WANTED_EXCHANGE)).ceil() as usize + 1).clamp(2, MOST_TEMPERATURES)
}

/// The index of the nearest value.
pub fn nearest(betas: &[f64], beta: f64) -> usize {
    let away = |k: &usize| (betas[*k] - beta).abs();
    (0..betas.len()).min_by(|a, b| away(a).total_cmp(&away(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_invert_the_gaussian_acceptance() {
        for s in [0.2, 0.7, 1.466, 3.0] {
            let acceptance = 2.0 * normal::upper_tail(s / std::f64::consts::SQRT_2);
            assert!((distance(acceptance) - s).abs() < 1e-9, "{s}");
        }
        assert!(distance(0.0).is_finite() && distance(1.0) > 0.0);
    }

    #[test]
    fn rungs_move_to_where_exchanges_are_rare() {
        let betas = [5.0, 10.0, 20.0];
        let found = placed(&betas, &[0.9, 0.01], Some(5));
        assert_eq!((found[0], found[4]), (5.0, 20.0));
        assert!(found.windows(2).all(|w| w[0] < w[1]));
        assert!(found[1] > 10.0, "{found:?}");
        // A ladder that is right stays, whatever its acceptance.
        let even = placed(&betas, &[0.3, 0.3], None);
        assert_eq!(even.len(), 3);
        assert!((even[1] - 10.0).abs() < 1e-12);
        // Temperatures too close to one another are dropped, and too far apart are filled in.
        assert!(placed(&[5.0, 6.0, 7.0, 8.0, 9.0], &[0.8; 4], None).len() == 2);
        assert!(placed(&[5.0, 20.0], &[1e-3], None).len() >= 4);
    }
}
