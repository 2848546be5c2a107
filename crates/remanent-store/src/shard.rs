//! Shares of a run: which cells a process begins with if several work in one directory.
//!
//! Every process computes the same split from the same list, so that they need not talk to one
//! another. The split saves time and decides nothing: claims ([`claim`](crate::claim)) keep two
//! processes from the same cell, and whoever has finished its share takes cells of the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The largest number of shards.
const MOST: usize = 100_000;

/// Share `index` of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 to `count`.
    pub index: usize,
    /// All shares.
    pub count: usize,
}

/// A text that is no shard.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("'{0}' is not I/N with I from 1 to N, e.g. 3/8, and N at most {MOST}")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        let parts = text.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) && count <= MOST => {
                Ok(Self { index, count })
            }
            _ => Err(ShardError(text.to_owned())),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The share of each cell, from 1 to `count`: the longest cell first, each to the share with the
/// least to do. `times` are expected times in any unit; cells of equal time go by their names.
pub fn split(times: &[f64], names: &[String], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by(|&a, &b| times[b].total_cmp(&times[a]).then_with(|| names[a].cmp(&names[b])));
    // Whole numbers: their sums do not depend on the machine.
    let longest = order.first().map_or(0.0, |&i| times[i]).max(f64::MIN_POSITIVE);
    let whole = |time: f64| ((time / longest).max(0.0) * f64::from(1 << 20)) as u64 + 1;
    let mut loads: BinaryHeap<Reverse<(u64, usize)>> =
        (1..=count).map(|share| Reverse((0, share))).collect();
    let mut shares = vec![0; times.len()];
    for i in order {
        let Some(Reverse((load, share))) = loads.pop() else { break };
        shares[i] = share;
        loads.push(Reverse((load + whole(times[i]), share)));
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{:04}", (i * 7919) % 10_007)).collect()
    }

    #[test]
    fn shards_are_read() {
        assert_eq!("3/8".parse(), Ok(Shard { index: 3, count: 8 }));
        for text in ["0/8", "9/8", "3", "a/b", "3/", "-1/2", "1/0", "1/1000000", "1.5/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        assert_eq!(Shard { index: 3, count: 8 }.to_string(), "3/8");
    }

    #[test]
    fn shares_are_balanced_by_time_and_not_by_count() {
        let times: Vec<f64> = (0..1000).map(|i| 1.0 + f64::from(i % 17).powi(2)).collect();
        let names = names(times.len());
        for count in [1, 2, 7, 64] {
            let shares = split(&times, &names, count);
            let load = |share| -> f64 {
                (0..times.len()).filter(|&i| shares[i] == share).map(|i| times[i]).sum()
            };
            let loads: Vec<f64> = (1..=count).map(load).collect();
            let mean = times.iter().sum::<f64>() / count as f64;
            let most = loads.iter().copied().fold(0.0, f64::max);
            assert!(most <= mean + 1.0 + 0.01 * mean, "{count}: {most} of {mean}");
        }
        // One long cell is a share of its own.
        let shares = split(&[1.0, 1.0, 100.0, 1.0], &names[..4], 2);
        assert_eq!(shares.iter().filter(|&&share| share == shares[2]).count(), 1);
    }

    #[test]
    fn the_order_of_the_cells_does_not_matter() {
        let times: Vec<f64> = (0..50).map(|i| f64::from(i % 5)).collect();
        let names = names(50);
        let shares = split(&times, &names, 7);
        let back: Vec<f64> = times.iter().rev().copied().collect();
        let reversed: Vec<String> = names.iter().rev().cloned().collect();
        let mut other = split(&back, &reversed, 7);
        other.reverse();
        assert_eq!(shares, other);
    }

    #[test]
    fn more_shares_than_cells_leave_some_empty_and_no_time_is_no_problem() {
        assert_eq!(split(&[], &[], 3), [0; 0]);
        let mut shares = split(&[0.0, 0.0], &names(2), 5);
        shares.sort_unstable();
        assert_eq!(shares, [1, 2]);
    }
}
