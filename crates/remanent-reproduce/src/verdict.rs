//! Verdicts: what a claim says, what tests it, and what the numbers decide.
//!
//! ```text
//! trials ─▶ Estimate (value, standard error, trials)
//!        ─▶ Test (estimate, rule with its reason) ─▶ Outcome and margin
//!        ─▶ Claim (what the paper says and where, its tests) ─▶ Outcome
//!        ─▶ Verdict on a figure
//! ```
//!
//! One rule for all tests: a test is *supported* or *contradicted* if its estimate lies on one side of its
//! threshold by more than two standard errors (more for few trials: [`confidence`]), and *undecided*
//! otherwise. One rule for all claims: contradicted if a test is, else undecided if a test is, else
//! supported. One rule for all figures: [`Verdict::of`]. At reduced size nothing that was simulated is
//! contradicted.
//!
//! A question beyond the paper has an [`Answer`] with numbers, and no verdict.

mod agreement;
mod claim;
mod test;

pub use agreement::{Agreement, Pair};
pub use claim::{Answer, Claim, Findings, Verdict};
pub use remanent_lab::estimate::{Estimate, MIN_TRIALS, confidence};
pub use test::{Outcome, Test, Threshold};

/// The version of the rules. Raise it when a rule or a threshold changes, and say in the changelog from
/// what to what, and what that did to the verdicts.
///
/// 1: checks that hold or fail, some of which decide. 2: claims with estimates, three outcomes. 3: statements
/// about the model are tested with one step of replica-symmetry breaking. 4: samples where symmetry is broken
/// are those of parallel tempering, and the limit of large N decides.
pub const RULES: u32 = 4;
