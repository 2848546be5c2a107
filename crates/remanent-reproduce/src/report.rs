//! The report: one page of HTML that lays every figure beside what the paper claims of it.
//!
//! An [`Exhibit`] is a figure with all that is needed to judge it and to make it again: its drawing,
//! its numbers, its configuration and command, and its [`Findings`]: claims with their outcomes, or
//! answers. No verdict is written by hand: a rule that the page states makes it from the claims, so that
//! the same numbers give the same verdict on every machine.
//!
//! The page is a single file which loads nothing: drawings are inline, data are links that hold
//! them, fonts are those of the reader. It forbids its own browser to load or run anything, so that a
//! drawing or a text with something else in it is harmless, and needs no script. It can be mailed,
//! kept and printed, and looks the same in ten years.
//!
//! ```
//! use remanent_reproduce::report::{Exhibit, Machine, Report, Size};
//! use remanent_reproduce::verdict::{Claim, Estimate, Findings, Test, Threshold};
//!
//! let fall = Estimate::of([0.11, 0.12, 0.13, 0.12]);
//! let test = Test::above("fall of the error", fall, Threshold::ZERO);
//! let exhibit = Exhibit {
//!     id: "3b".into(),
//!     title: "error against α".into(),
//!     size: Size { text: "N = 500".into(), full: Some("N = 1000".into()), fewer_points: false },
//!     found: "It falls.".into(),
//!     findings: Findings::Claims(vec![Claim::new("The error falls.", "Fig. 3b", vec![test])]),
//!     notes: vec![],
//!     measurements: serde_json::json!({"fall": fall}),
//!     svg: "<svg></svg>".into(),
//!     csv: "alpha,error\n0.1,0.4\n".into(),
//!     config: "n = 500\n".into(),
//!     command: "remanent reproduce 3b".into(),
//!     seconds: Some(840.0),
//!     cells: 5,
//! };
//! let report = Report {
//!     title: "Remanent".into(),
//!     quick: true,
//!     version: "0.1.0".into(),
//!     date: "2026-01-01".into(),
//!     command: "remanent reproduce --quick".into(),
//!     wall_seconds: 500.0,
//!     machine: Machine::detect(2),
//!     exhibits: vec![exhibit],
//! };
//! let page = report.html()?;
//! assert!(page.contains(r#"<section class="exhibit" id="fig-3b" data-verdict="reproduced">"#));
//! # Ok::<(), remanent_reproduce::report::ReportError>(())
//! ```

mod machine;
mod page;

use std::path::{Path, PathBuf};

use remanent_store::atomic;
use remanent_store::files::FileError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use machine::Machine;
pub use page::{anchor, duration};

use crate::verdict::{Findings, Verdict};

/// How large the experiment of a figure is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// In words: `N = 500, 5 trials`.
    pub text: String,
    /// The full size in words, if the experiment was smaller.
    pub full: Option<String>,
    /// Whether the theory was solved at fewer points than at full size.
    pub fewer_points: bool,
}

impl Size {
    /// Whether it is below the full size.
    pub fn is_reduced(&self) -> bool {
        self.full.is_some()
    }

    /// In words, with the full size if it differs.
    pub fn sentence(&self) -> String {
        match &self.full {
            Some(full) => format!("{} (full size: {full})", self.text),
            None => self.text.clone(),
        }
    }
}

/// One figure of the report.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Exhibit {
    /// The number of the figure: `3b`, `B7`.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// How large the experiment was.
    pub size: Size,
    /// One sentence: what was found.
    pub found: String,
    /// Claims of the paper with their outcomes, or answers to questions beyond it.
    pub findings: Findings,
    /// Remarks: what was chosen by us, what differs from the published curve.
    pub notes: Vec<String>,
    /// The numbers that the findings rest on.
    pub measurements: Value,
    /// The drawing, as markup of SVG. It goes into the page as it is; several drawings may follow one
    /// another.
    pub svg: String,
    /// The numbers of the drawing, with a head line.
    pub csv: String,
    /// The configuration, as TOML.
    pub config: String,
    /// The command that makes the figure alone.
    pub command: String,
    /// Computing time in seconds: of all cells together, each on one thread.
    pub seconds: Option<f64>,
    /// The number of cells.
    pub cells: usize,
}

impl Exhibit {
    /// The verdict on the claims; none if the figure answers questions beyond the paper.
    pub fn verdict(&self) -> Option<Verdict> {
        self.findings.verdict()
    }

    /// Whether the paper has no such figure.
    pub fn is_beyond(&self) -> bool {
        matches!(self.findings, Findings::Answers(_))
    }
}

/// All figures, and how they were made.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Report {
    /// The headline.
    pub title: String,
    /// Whether the sizes are reduced throughout, for a first look.
    pub quick: bool,
    /// The version of the program.
    pub version: String,
    /// The day.
    pub date: String,
    /// The command that makes the whole report.
    pub command: String,
    /// How long that took, in seconds.
    pub wall_seconds: f64,
    /// Where.
    pub machine: Machine,
    /// The figures, in the order of the page; those beyond the paper come after the others.
    pub exhibits: Vec<Exhibit>,
}

impl Report {
    /// The page.
    pub fn html(&self) -> Result<String, ReportError> {
        page::render(self)
    }

    /// Writes the page as `index.html` into a folder that is there, and gives its path.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ReportError> {
        let page = folder.join("index.html");
        let html = self.html()?;
        atomic::sweep_own(folder)?;
        atomic::write(&page, &[html.as_bytes()])?;
        Ok(page)
    }
}

/// Why there is no page.
#[derive(Debug, Error)]
pub enum ReportError {
    /// Two figures would have the same place in the page.
    #[error("two figures of the report are called {id:?}, or have names that differ only in signs")]
    SameId {
        /// The number of the second.
        id: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The template does not fit the data.
    #[error("the template of the report failed: {0}")]
    Template(#[from] minijinja::Error),
}
