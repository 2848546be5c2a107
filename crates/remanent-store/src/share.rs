//! A share of a run: what one of several processes computes.
//!
//! A shard computes its own cells first, then cells that nobody has begun, and cells of workers that
//! died. It ends when every other cell is done, has failed, or is in the hands of a worker that was
//! seen to be alive. A failure of one cell does not stop the others.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;

use crate::batch::{Attempt, Batch, Known, Pause};
use crate::cell::{Cell, Stopped};
use crate::claim;
use crate::failure::{self, Failure};
use crate::files::FileError;
use crate::layout;
use crate::run::RunError;
use crate::shard::{Shard, split};
use crate::worker::Life;

/// Which share is computed.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// Its number.
    pub shard: Shard,
    /// Whether cells of other shares are computed when its own are done.
    pub steals: bool,
    /// What others are told about this process.
    pub about: &'a str,
}

/// What a share came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared {
    /// Cells that this process computed, those of other shares included.
    pub computed: usize,
    /// Those of them that belong to other shares.
    pub stolen: usize,
    /// Cells of its share that had a record.
    pub found: usize,
    /// Cells of the run with a record.
    pub done: usize,
    /// All cells of the run.
    pub total: usize,
    /// Cells that cannot be computed.
    pub failed: Vec<Failure>,
}

impl<C: Cell> Batch<'_, C> {
    pub(crate) fn run_share(&self, share: &Share<'_>) -> Result<Shared, RunError> {
        let plan = self.prepare()?;
        let expected: Vec<f64> =
            plan.iter().map(|cell| cell.seconds.unwrap_or(cell.work as f64)).collect();
        let Shard { index, count } = share.shard;
        let shares = split(&expected, &self.names, count);
        let mut order: Vec<usize> = (0..self.cells.len()).filter(|&i| self.first[i] == i).collect();
        order.sort_by(|&a, &b| expected[b].total_cmp(&expected[a]).then(a.cmp(&b)));
        let (own, others): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|&i| shares[i] == index);

        let mut result = Shared { total: self.cells.len(), ..Shared::default() };
        let (missing, recorded) = self.missing(&own, &mut result)?;
        self.check_memory(&missing)?;
        self.compute_share(&missing, &recorded, &mut result, true)?;
        if share.steals {
            // Each begins at another place, so that not all try the same cell.
            let mut others = others;
            let turn = others.len() * (index - 1) / count;
            others.rotate_left(turn);
            let all: Vec<usize> = missing.into_iter().chain(others).collect();
            self.take_over(&all, &recorded, &shares, index, &mut result)?;
            self.claims.bury()?;
        }
        claim::leave(&self.store.directory);
        let done = layout::recorded(&self.store.directory)?;
        result.done = self.names.iter().filter(|&name| done.contains(name)).count();
        let names: HashSet<&String> = self.names.iter().collect();
        result.failed = failure::read(&self.store.directory)?;
        result.failed.retain(|failure| names.contains(&failure.cell));
        if self.interrupt.load(Ordering::Relaxed)
            && result.done + result.failed.len() < result.total
        {
            return Err(RunError::Interrupted { done: result.done, total: result.total });
        }
        Ok(result)
    }

    /// The cells of a share without record or failure, and what those must come to whose models are
    /// missing.
    fn missing(
        &self,
        own: &[usize],
        result: &mut Shared,
    ) -> Result<(Vec<usize>, BTreeMap<usize, serde_json::Value>), FileError> {
        let failed = self.failed()?;
        let (mut missing, mut recorded) = (Vec::new(), BTreeMap::new());
        for &i in own {
            match self.known(i)? {
                Known::Record(_) => {
                    result.found += 1;
                    self.watcher.advance(self.cells[i].work());
                    continue;
                }
                Known::WithoutModel(value) => {
                    recorded.insert(i, value);
                }
                Known::Nothing if failed.contains(&self.names[i]) => continue,
                Known::Nothing => {}
            }
            missing.push(i);
        }
        Ok((missing, recorded))
    }

    fn failed(&self) -> Result<HashSet<String>, FileError> {
        let failures = failure::read(&self.store.directory)?;
        Ok(failures.into_iter().map(|failure| failure.cell).collect())
    }

    /// Computes cells that no other process has. Says how many are done now that were not.
    fn compute_share(
        &self,
        cells: &[usize],
        recorded: &BTreeMap<usize, serde_json::Value>,
        result: &mut Shared,
        is_own: bool,
    ) -> Result<usize, RunError> {
        let stops =
            |outcome: &Attempt<C::Record>| matches!(outcome, Attempt::Stopped(Stopped::Io(_)));
        let mut done = 0;
        for (i, outcome) in self.attempt_all(cells, recorded, stops) {
            match outcome {
                Attempt::Done { is_computed, .. } => {
                    done += 1;
                    result.computed += usize::from(is_computed);
                    result.stolen += usize::from(is_computed && !is_own);
                }
                Attempt::Elsewhere | Attempt::Stopped(Stopped::Interrupted) => {}
                Attempt::Stopped(Stopped::Failed(reason)) => {
                    self.keep_failure(i, &reason)?;
                    self.watcher.notice(&format!("cell {}: {reason}", self.names[i]));
                }
                Attempt::Stopped(Stopped::Io(error)) => return Err(error.into()),
            }
        }
        Ok(done)
    }

    /// Computes what nobody computes, until there is nothing left that is not in living hands.
    fn take_over(
        &self,
        cells: &[usize],
        recorded: &BTreeMap<usize, serde_json::Value>,
        shares: &[usize],
        index: usize,
        result: &mut Shared,
    ) -> Result<(), RunError> {
        let directory = &self.store.directory;
        let mut pause = Pause::silent();
        while !self.interrupt.load(Ordering::Relaxed) {
            // By the names of files: a thousand shards do not read all records of one another.
            let (done, failed) = (layout::recorded(directory)?, self.failed()?);
            let claimed: HashSet<String> = claim::names(directory)?.into_iter().collect();
            let left = |i: &&usize| {
                let name = &self.names[**i];
                // A cell whose model is made again has a record all the time.
                let is_done = done.contains(name) && !recorded.contains_key(i);
                !is_done && !failed.contains(name)
            };
            let left: Vec<usize> = cells.iter().filter(left).copied().collect();
            let is_claimed = |i: &usize| claimed.contains(&self.names[*i]);
            let (held, mut free): (Vec<usize>, Vec<usize>) = left.into_iter().partition(is_claimed);
            let mut is_open = false;
            for i in held {
                match self.claims.life(&self.names[i])? {
                    Some(Life::Alive) => {}
                    Some(Life::Unknown) => is_open = true,
                    Some(Life::Dead) | None => free.push(i),
                }
            }
            let (own, others): (Vec<usize>, Vec<usize>) =
                free.into_iter().partition(|&i| shares[i] == index);
            let mut progress = self.compute_share(&own, recorded, result, true)?;
            progress += self.compute_share(&others, recorded, result, false)?;
            if progress > 0 {
                pause.restart();
            } else if own.is_empty() && others.is_empty() && !is_open {
                return Ok(());
            } else {
                pause.wait(self.watcher, self.interrupt, String::new);
            }
        }
        Ok(())
    }
}
