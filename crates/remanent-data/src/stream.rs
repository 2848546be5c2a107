//! Streams of tasks, named by a text.
//!
//! | text | tasks |
//! |---|---|
//! | `permuted:mnist:10` | ten times the same images, the pixels of each task in another order |
//! | `sequence:fashion-mnist,mnist` | one dataset after another |
//! | `split:mnist:2` | the classes two by two: 0 and 1, then 2 and 3, … |
//! | `rotated:mnist:10` | ten times the same images, turned by 0°, 18°, …, 162° |
//! | `drift:mnist:5:10` | five permutations, each of which becomes the next in ten stages |
//! | a path | the lines of that file, each one of these; `#` begins a comment |
//!
//! Every task of a permuted stream is permuted, the first as well: all are alike, and none is
//! easier because neighbours are still neighbours. A permutation is drawn by Philox at (seed,
//! purpose, trial, place of the task in the whole stream), so that a longer stream begins with
//! the tasks of the shorter one. It is made when a task is opened and not stored: a stream of a
//! thousand tasks needs no more memory than one of two.
//!
//! In a drifting stream no task begins or ends: in stage s of S the share s/S of the images, evenly
//! spread over the dataset, has the next permutation already, and an image that has changed over
//! stays so until the permutation after it begins. Each stage counts as a task.

mod error;
mod loaded;
mod spec;
mod task;
#[cfg(test)]
mod tests;

pub use error::StreamError;
pub use loaded::{TaskCounts, TaskStream};
pub use spec::{Piece, StreamSpec};
pub use task::{PERMUTATION_PURPOSE, Task, permutation};
