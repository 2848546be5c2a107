//! Experiments as independent cells, with records that survive interruption.
//!
//! An experiment is a list of cells. A [`Cell`] is a set of parameters and a
//! seed, and depends on nothing else, so it can be computed on any thread, in
//! any order, today or tomorrow. Its result is a record, a small file named by
//! the hash of these parameters, in the directory of the run, the [`Store`]:
//!
//! ```text
//! configuration ─▶ list of cells ─▶ Store::run ─▶ records, in the order of the cells
//! ```
//!
//! A cell that has a record is never computed again. A program that is killed
//! loses the cells under way, and of those only what came after their last
//! checkpoint; the same command continues, and gives the same bits as if it had
//! not been killed. Damaged files are moved aside and computed again. More
//! seeds are more cells.
//!
//! ```
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//!
//! use remanent_store::{Cell, Context, Silent, Stopped, Store};
//! use serde_json::{Value, json};
//!
//! /// The mean of a few numbers that look random.
//! struct Mean {
//!     seed: u64,
//!     count: u64,
//! }
//!
//! impl Cell for Mean {
//!     type Record = f64;
//!
//!     fn key(&self) -> Value {
//!         json!({"seed": self.seed, "count": self.count})
//!     }
//!
//!     fn work(&self) -> u64 {
//!         self.count
//!     }
//!
//!     fn run(&self, context: &mut Context<'_>) -> Result<f64, Stopped> {
//!         // The whole state of the computation: the step and the sum so far.
//!         let (mut step, mut sum) = context.load().unwrap_or((0, 0.0));
//!         context.advance(step);
//!         while step < self.count {
//!             if context.due() {
//!                 context.save(&(step, sum))?;
//!             }
//!             sum += ((self.seed * 7919 + step * 104_729) % 1000) as f64;
//!             step += 1;
//!             context.advance(1);
//!         }
//!         Ok(sum / self.count as f64)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let directory: &Path = &directory.path().join("run");
//! let config = json!({"count": 1000});
//! let cells = |seeds| (0..seeds).map(|seed| Mean { seed, count: 1000 }).collect::<Vec<_>>();
//!
//! let store = Store::open(directory, "mean", &config, false)?;
//! let interrupt = AtomicBool::new(false); // set by Ctrl-C in a program
//! let three = store.run(&cells(3), &Silent, &interrupt)?;
//! let four = store.run(&cells(4), &Silent, &interrupt)?; // computes one
//! assert_eq!(three, four[..3]);
//!
//! // Without a store:
//! assert_eq!(Mean { seed: 3, count: 1000 }.run(&mut Context::detached())?, four[3]);
//! # Ok(())
//! # }
//! ```

mod batch;
mod cell;
mod claim;
mod failure;
mod layout;
mod parcel;
mod planned;
mod probe;
mod run;
mod shard;
mod share;
mod store;
mod times;
mod worker;

pub mod amounts;
pub mod atomic;
pub mod files;
pub mod found;
pub mod memory;
pub mod sealed;
pub mod status;

pub use cell::{CHECKPOINT_EVERY, Cell, Context, ModelFault, Stopped, cell_name};
pub use failure::{Failure, retry};
pub use parcel::{Parcel, ParcelError};
pub use planned::PlannedCell;
pub use probe::rate;
pub use run::{Finished, Request, RunError, Silent, Survey, Watcher, memory_at_once};
pub use shard::{Shard, ShardError, split};
pub use share::{Share, Shared};
pub use store::{Store, StoreError, is_read_only, remove};
pub use worker::{Life, Observer, UnderWay, stale_after};
