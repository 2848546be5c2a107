//! The law of a field on as few nodes as the site measure needs.
//!
//! A grid of fields resolves the law of the field. Where that law changes on a much smaller scale than the site measure
//! does with the field, as behind a strong anchor and a narrow Gaussian, its masses are moved to fewer nodes with
//! the same moments: all that is averaged over the field afterwards comes out the same.

use crate::law::{NODES, Panel};
use crate::resolution::Resolution;
use crate::site::Site;

/// The length of a panel with 16 nodes in units of the scale on which the measure changes with the field: a Gaussian
/// of this scale then keeps twelve digits even thirteen widths from its middle.
const LENGTH: f64 = 0.6;

/// The nodes to which several laws on rising `fields` are moved, and the masses of each there.
pub(crate) fn condensed(
    site: &Site,
    fields: Vec<f64>,
    laws: Vec<Vec<f64>>,
    resolution: Resolution,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let refinement = resolution.factor() / Resolution::STANDARD.factor();
    let length = |field: f64| LENGTH * site.scale_of_fields(field) / refinement.max(1.0);
    // Each group of neighbours as its first index and its end; from 0 outwards, because the scale grows that way.
    let mut groups: Vec<(usize, usize)> = vec![];
    let split = fields.partition_point(|b| *b < 0.0);
    let mut end = split;
    while end > 0 {
        let farthest = fields[end - 1] - length(fields[end - 1]);
        let near = fields[..end].partition_point(|b| *b < farthest);
        let first = near.min(end.saturating_sub(NODES));
        groups.push((first, end));
        end = first;
    }
    groups.reverse();
    let mut first = split;
    while first < fields.len() {
        let farthest = fields[first] + length(fields[first]);
        let near = first + fields[first..].partition_point(|b| *b <= farthest);
        let end = near.max((first + NODES).min(fields.len()));
        groups.push((first, end));
        first = end;
    }
    if groups.iter().all(|(first, end)| end - first <= NODES) {
        return (fields, laws);
    }
    let mut nodes = vec![];
    let mut moved: Vec<Vec<f64>> = vec![vec![]; laws.len()];
    for (first, end) in groups {
        let group = &fields[first..end];
        if group.len() <= NODES {
            nodes.extend(group);
            moved.iter_mut().zip(&laws).for_each(|(moved, law)| moved.extend(&law[first..end]));
            continue;
        }
        let (low, high) = (group[0], group[group.len() - 1]);
        let panel = Panel { middle: 0.5 * (low + high), half: 0.5 * (high - low), scale: 0.0 };
        nodes.extend(panel.thetas());
        let laws: Vec<&[f64]> = laws.iter().map(|law| &law[first..end]).collect();
        for (moved, masses) in moved.iter_mut().zip(panel.gathered(group, &laws)) {
            moved.extend(masses);
        }
    }
    (nodes, moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A comb of fields is seen by a smooth function as by its nodes.
    #[test]
    fn averages_of_the_measure_are_kept() {
        for site in [
            Site { stiffness: 0.0, entropy: 0.0 },
            Site { stiffness: -30.0, entropy: 2.0 },
            Site { stiffness: 200.0, entropy: 1e4 },
        ] {
            let scale = site.scale_of_fields(0.0);
            let fields: Vec<f64> = (-4000..6000).map(|k| 2e-3 * scale * f64::from(k)).collect();
            let mass =
                |b: &f64| (1.0 + (9.0 * b / scale).sin()) * (-0.02 * (b / scale).powi(2)).exp();
            let law: Vec<f64> = fields.iter().map(mass).collect();
            let average = |fields: &[f64], law: &[f64]| {
                let mut moments = vec![];
                site.moments(fields, 0.88, &mut moments);
                let of =
                    |m: &crate::site::Moments| [m.variance, m.one_minus_m2, m.ln_z_from_corner];
                moments
                    .iter()
                    .zip(law)
                    .fold([0.0; 3], |sum, (m, p)| std::array::from_fn(|k| sum[k] + p * of(m)[k]))
            };
            let all = average(&fields, &law);
            let (nodes, laws) = condensed(&site, fields, vec![law], Resolution::STANDARD);
            assert!(nodes.len() < 1000, "{}", nodes.len());
            for (few, all) in average(&nodes, &laws[0]).iter().zip(all) {
                assert!((few / all - 1.0).abs() < 1e-12, "{site:?} {few} {all}");
            }
        }
    }
}
