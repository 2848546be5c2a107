//! The cells that commands have asked for: `plans/<hash>.json`, one file for each list of cells.
//!
//! Records tell what is done. A plan tells what there is to do, so that others can see how much is
//! left without knowing what the cells are. It also holds the expected times by which the cells are
//! shared out: whoever writes it first decides for all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, FileError};
use crate::sealed::{self, SealError};

/// The folder of the plans.
pub(crate) const PLANS: &str = "plans";

/// A cell that is to be computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCell {
    /// The name of the cell.
    pub cell: String,
    /// Its units of work.
    pub work: u64,
    /// The seconds it is expected to take on one thread, if they were estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

fn path(directory: &Path, cells: &[PlannedCell]) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for cell in cells {
        hasher.update(cell.cell.as_bytes());
    }
    directory.join(PLANS).join(format!("{}.json", &hasher.finalize().to_hex()[..16]))
}

/// Keeps a plan, unless it is there, and gives the one that is kept.
pub(crate) fn keep(
    directory: &Path,
    cells: Vec<PlannedCell>,
) -> Result<Vec<PlannedCell>, FileError> {
    let path = path(directory, &cells);
    let fits = |kept: &[PlannedCell]| {
        kept.len() == cells.len() && kept.iter().zip(&cells).all(|(a, b)| a.cell == b.cell)
    };
    for _ in 0..3 {
        match sealed::read::<Vec<PlannedCell>>(&path, "plan") {
            Ok(kept) if fits(&kept) => return Ok(kept),
            Err(SealError::Missing(_)) => {
                if sealed::create(&path, "plan", &cells, false)? {
                    return Ok(cells);
                }
            }
            // Damaged: it can be made again.
            _ => files::remove(&path)?,
        }
    }
    Ok(cells)
}

/// All cells that were ever planned in a directory, by name.
pub(crate) fn read(directory: &Path) -> Result<BTreeMap<String, PlannedCell>, FileError> {
    let folder = directory.join(PLANS);
    let mut all = BTreeMap::new();
    for name in files::names(&folder)? {
        if let Ok(cells) = sealed::read::<Vec<PlannedCell>>(&folder.join(name), "plan") {
            all.extend(cells.into_iter().map(|cell| (cell.cell.clone(), cell)));
        }
    }
    Ok(all)
}
