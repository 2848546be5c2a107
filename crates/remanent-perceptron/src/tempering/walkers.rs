//! The way of each configuration along the ladder: which temperature it is at, and its round trips.

use serde::{Deserialize, Serialize};

/// What a walker has done since its last round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Leg {
    /// Not yet at the cold end.
    Start,
    /// At the cold end, then not at the hot one.
    Up,
    /// At the cold end, then at the hot one.
    Down,
}

/// The walkers of one ladder. Rung 0 is the hot end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walkers {
    /// The walker at each rung.
    at: Vec<usize>,
    legs: Vec<Leg>,
    round_trips: usize,
}

impl Walkers {
    /// Walkers that have not moved.
    pub fn new(rungs: usize) -> Self {
        let mut walkers =
            Self { at: (0..rungs).collect(), legs: vec![Leg::Start; rungs], round_trips: 0 };
        walkers.note_ends();
        walkers
    }

    /// Exchanges the walkers at `rung` and the next one.
    pub fn exchange(&mut self, rung: usize) {
        self.at.swap(rung, rung + 1);
    }

    /// Counts the walkers that have come to an end; called after the exchanges of a sweep.
    pub fn note_ends(&mut self) {
        let (hot, cold) = (self.at[0], self.at[self.at.len() - 1]);
        if self.legs[hot] == Leg::Up {
            self.legs[hot] = Leg::Down;
        }
        match self.legs[cold] {
            Leg::Start => self.legs[cold] = Leg::Up,
            Leg::Up => {}
            Leg::Down => {
                self.legs[cold] = Leg::Up;
                self.round_trips += 1;
            }
        }
    }

    /// Round trips from the cold end to the hot end and back.
    pub fn round_trips(&self) -> usize {
        self.round_trips
    }

    /// Number of rungs.
    pub fn len(&self) -> usize {
        self.at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_touches_both_ends_and_returns() {
        let mut walkers = Walkers::new(3);
        let mut step = |rung: usize| {
            walkers.exchange(rung);
            walkers.note_ends();
            walkers.round_trips()
        };
        // Walker 2 goes from the cold end to the hot one and back: 1, 0, then 0, 1.
        assert_eq!([step(1), step(0), step(0), step(1)], [0, 0, 0, 1]);
        // Walkers 0 and 1 have not been at the cold end before, except for walker 1 once.
        assert_eq!([step(1), step(1)], [1, 1]);
    }
}
