//! Verdicts, and the rule that makes them of checks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a rule decides from the numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check holds.
    Reproduced,
    /// What is essential holds, and something else does not.
    WithADifference,
    /// Something essential does not hold, or nothing was checked.
    NotReproduced,
}

/// One statement that the numbers decide.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Check {
    /// The statement.
    pub what: String,
    /// Whether it is true.
    pub holds: bool,
    /// Whether the claim falls with it.
    pub essential: bool,
}

impl Verdict {
    /// All verdicts, best first.
    pub const ALL: [Self; 3] = [Self::Reproduced, Self::WithADifference, Self::NotReproduced];

    /// The verdict on checks: not reproduced if one that is essential fails, or if there is none at
    /// all; with a difference if another fails; else reproduced.
    pub fn of(checks: &[Check]) -> Self {
        let fails = |essential| checks.iter().any(|c| c.essential == essential && !c.holds);
        if checks.is_empty() || fails(true) {
            Self::NotReproduced
        } else if fails(false) {
            Self::WithADifference
        } else {
            Self::Reproduced
        }
    }

    /// The name in data, the one that serde writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::WithADifference => "with_a_difference",
            Self::NotReproduced => "not_reproduced",
        }
    }

    /// A sign that tells it from the others without colour.
    pub fn symbol(self) -> char {
        match self {
            Self::Reproduced => '✓',
            Self::WithADifference => '≈',
            Self::NotReproduced => '✗',
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::WithADifference => "reproduced with a difference",
            Self::NotReproduced => "not reproduced",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn essential_checks_decide_and_the_others_make_a_difference() {
        let verdict = |checks: &[(bool, bool)]| {
            let check = |&(holds, essential)| Check { what: String::new(), holds, essential };
            Verdict::of(&checks.iter().map(check).collect::<Vec<_>>())
        };
        let (essential, other) = (true, false);
        assert_eq!(verdict(&[]), Verdict::NotReproduced);
        assert_eq!(verdict(&[(true, essential)]), Verdict::Reproduced);
        assert_eq!(verdict(&[(true, other)]), Verdict::Reproduced);
        assert_eq!(verdict(&[(true, essential), (true, other)]), Verdict::Reproduced);
        assert_eq!(verdict(&[(true, essential), (false, other)]), Verdict::WithADifference);
        assert_eq!(verdict(&[(false, other)]), Verdict::WithADifference);
        assert_eq!(verdict(&[(false, essential), (true, other)]), Verdict::NotReproduced);
        assert_eq!(verdict(&[(false, other), (false, essential)]), Verdict::NotReproduced);
    }

    #[test]
    fn names_are_those_of_serde() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
        assert_eq!(Verdict::WithADifference.to_string(), "reproduced with a difference");
    }
}
