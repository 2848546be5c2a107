//! Numbers in sentences.

use crate::verdict::{Estimate, Outcome, Test};

/// `0.191`.
pub fn error(eps: f64) -> String {
    if eps != 0.0 && eps.abs() < 5e-4 { format!("{eps:.1e}") } else { format!("{eps:.3}") }
}

/// `86.4 %`.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// `86.4 ± 0.5 %`.
pub fn percent_of(estimate: &Estimate) -> String {
    match estimate.standard_error {
        Some(se) => format!("{:.1} ± {:.1} %", 100.0 * estimate.value, 100.0 * se),
        None => percent(estimate.value),
    }
}

/// `a, b and c`.
pub fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `close, and it can be chance`: whether two quantities are close, and consistent, in words.
pub fn agreement([close, consistent]: &[Test; 2]) -> String {
    let close = match close.outcome {
        Outcome::Supported => "close",
        Outcome::Contradicted => "not close",
        Outcome::Undecided => "whether that is close is open",
    };
    let chance = match consistent.outcome {
        Outcome::Supported => "it can be chance",
        Outcome::Contradicted => "it is more than chance",
        Outcome::Undecided => "whether it can be chance is open",
    };
    format!("{close}, and {chance}")
}

/// A sentence begins with a capital.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
