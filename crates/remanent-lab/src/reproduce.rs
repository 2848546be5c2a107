//! The paper, figure by figure: every figure of arXiv:2212.02846 and what lies beyond it, from its
//! configuration to a picture, a sentence and a verdict.
//!
//! ```text
//! catalogue ─▶ Work (a configuration, checked) ─▶ Batches of cells, one a kind
//!           ─▶ records ─▶ Results ─▶ Shown: picture, table, what was found, checks
//!           ─▶ report::Exhibit ─▶ report (HTML) and kept files
//! ```
//!
//! Cells are named by their own parameters, so that figures share what they have in common, and
//! what another command or another machine has computed need not be computed again.

mod batches;
mod catalogue;
mod figures;
mod keep;
mod results;
mod work;

pub use batches::{Batch, Batches, Records};
pub use catalogue::{CATALOGUE, Entry, UnknownFigure, select};
pub use keep::{KeepError, keep};
pub use results::{Results, Shown, Simulated, Trained};
pub use work::{Experiment, Size, Work, WorkError};

use crate::report::Exhibit;

/// Puts together what the report says of a figure. A figure that cannot be drawn from
/// its records says so, and does not keep the others from being shown.
pub fn exhibit(work: &Work, records: Records) -> Exhibit {
    let (seconds, cells) = (records.seconds, records.cells);
    let shown = Results::new(work, records).and_then(|results| {
        let reason = "its records lack something that it needs; was a trial lost, or has the theory no solution?";
        let mut shown = (work.entry.show)(&results).ok_or_else(|| reason.to_owned())?;
        shown.notes.extend(results.remarks());
        Ok(shown)
    });
    let shown = shown.unwrap_or_else(|reason| Shown::nothing(&reason));
    let label = if work.size.reduced { ", reduced size" } else { "" };
    let figure = shown.figure.title(format!("{}: {}{label}", work.entry.id, work.entry.title));
    Exhibit {
        id: work.entry.id.into(),
        title: work.entry.title.into(),
        beyond: work.entry.is_beyond(),
        size: work.size.text.clone(),
        reduced: work.size.reduced,
        claim: work.entry.claim.into(),
        found: shown.found,
        checks: shown.checks,
        notes: shown.notes,
        svg: figure.to_svg(),
        csv: shown.table.to_csv(),
        config: work.entry.config.into(),
        command: work.command(),
        seconds: Some(seconds),
        cells,
    }
}
