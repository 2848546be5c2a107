//! Claims of the paper, questions beyond it, and the verdict on a figure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::test::{Outcome, Test};

/// One thing that the paper says, and what tests it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What the paper says, in short.
    pub says: String,
    /// Where it says it.
    pub place: String,
    /// What decides. All of them count.
    pub tests: Vec<Test>,
    /// What is also of interest, and does not count: nothing that the paper says rests on it.
    pub remarks: Vec<Test>,
    /// What the tests decide.
    pub outcome: Outcome,
}

impl Claim {
    /// A claim and its tests.
    pub fn new(says: impl Into<String>, place: impl Into<String>, tests: Vec<Test>) -> Self {
        let outcome = Outcome::of_all(tests.iter().map(|test| test.outcome));
        Self { says: says.into(), place: place.into(), tests, remarks: Vec::new(), outcome }
    }

    /// Adds tests that do not count.
    pub fn remark(mut self, remarks: impl IntoIterator<Item = Test>) -> Self {
        self.remarks.extend(remarks);
        self
    }

    /// The same where the experiment was smaller than the paper's, see [`Test::at_reduced_size`].
    pub fn at_reduced_size(self, fewer_points: bool) -> Self {
        let reduced = |tests: Vec<Test>| {
            tests.into_iter().map(|test| test.at_reduced_size(fewer_points)).collect()
        };
        Self::new(self.says, self.place, reduced(self.tests)).remark(reduced(self.remarks))
    }
}

/// The answer to a question beyond the paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What is asked.
    pub question: String,
    /// What was found, with numbers.
    pub answer: String,
    /// Tests that the answer rests on, if any.
    pub tests: Vec<Test>,
}

impl Answer {
    /// An answer in words and numbers.
    pub fn new(question: impl Into<String>, answer: impl Into<String>) -> Self {
        Self { question: question.into(), answer: answer.into(), tests: Vec::new() }
    }

    /// Adds tests.
    pub fn tested(mut self, tests: impl IntoIterator<Item = Test>) -> Self {
        self.tests.extend(tests);
        self
    }
}

/// What a figure found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Findings {
    /// A figure of the paper.
    Claims(Vec<Claim>),
    /// A figure beyond it.
    Answers(Vec<Answer>),
}

impl Findings {
    /// The verdict; none for answers.
    pub fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Claims(claims) => Some(Verdict::of(claims)),
            Self::Answers(_) => None,
        }
    }

    /// The same where the experiment was smaller than the configuration's own, see
    /// [`Test::at_reduced_size`].
    pub fn at_reduced_size(self, fewer_points: bool) -> Self {
        match self {
            Self::Claims(claims) => {
                let reduced = |claim: Claim| claim.at_reduced_size(fewer_points);
                Self::Claims(claims.into_iter().map(reduced).collect())
            }
            Self::Answers(answers) => {
                let reduced = |answer: Answer| Answer {
                    tests: answer
                        .tests
                        .into_iter()
                        .map(|test| test.at_reduced_size(fewer_points))
                        .collect(),
                    ..answer
                };
                Self::Answers(answers.into_iter().map(reduced).collect())
            }
        }
    }
}

/// What the claims of a figure amount to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every claim is supported.
    Reproduced,
    /// One is contradicted, another supported.
    InPart,
    /// One is contradicted, none supported.
    NotReproduced,
    /// None is contradicted, and one at least is undecided.
    Undecided,
}

impl Verdict {
    /// All verdicts, best first.
    pub const ALL: [Self; 4] =
        [Self::Reproduced, Self::InPart, Self::NotReproduced, Self::Undecided];

    /// The rule of all figures. Every claim counts, and all count the same.
    pub fn of(claims: &[Claim]) -> Self {
        let count = |outcome| claims.iter().filter(|claim| claim.outcome == outcome).count();
        match (count(Outcome::Contradicted), count(Outcome::Supported)) {
            (0, supported) if supported == claims.len() && supported > 0 => Self::Reproduced,
            (0, _) => Self::Undecided,
            (_, 0) => Self::NotReproduced,
            _ => Self::InPart,
        }
    }

    /// The name in data, the one that serde writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "in_part",
            Self::NotReproduced => "not_reproduced",
            Self::Undecided => "undecided",
        }
    }

    /// A sign that tells it from the others without colour.
    pub fn symbol(self) -> char {
        match self {
            Self::Reproduced => '✓',
            Self::InPart => '≈',
            Self::NotReproduced => '✗',
            Self::Undecided => '?',
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "reproduced in part",
            Self::NotReproduced => "not reproduced",
            Self::Undecided => "undecided",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Estimate, Threshold};
    use super::*;

    fn test(outcome: Outcome) -> Test {
        let estimate = match outcome {
            Outcome::Supported => Some(Estimate::exact(1.0)),
            Outcome::Contradicted => {
                Some(Estimate { value: -1.0, standard_error: Some(0.1), trials: Some(20) })
            }
            Outcome::Undecided => None,
        };
        let test = Test::above("x", estimate, Threshold::ZERO);
        assert_eq!(test.outcome, outcome);
        test
    }

    #[test]
    fn every_claim_counts() {
        use Outcome::{Contradicted, Supported, Undecided};
        let verdict = |outcomes: &[Outcome]| {
            let claim = |outcome: &Outcome| Claim::new("", "", vec![test(*outcome)]);
            Verdict::of(&outcomes.iter().map(claim).collect::<Vec<_>>())
        };
        assert_eq!(verdict(&[]), Verdict::Undecided);
        assert_eq!(verdict(&[Supported, Supported]), Verdict::Reproduced);
        assert_eq!(verdict(&[Supported, Undecided]), Verdict::Undecided);
        assert_eq!(verdict(&[Supported, Contradicted]), Verdict::InPart);
        assert_eq!(verdict(&[Supported, Contradicted, Undecided]), Verdict::InPart);
        assert_eq!(verdict(&[Contradicted, Undecided]), Verdict::NotReproduced);
        assert_eq!(verdict(&[Contradicted]), Verdict::NotReproduced);
    }

    #[test]
    fn remarks_do_not_count_and_small_sizes_contradict_nothing() {
        let claim = Claim::new("", "", vec![test(Outcome::Supported)])
            .remark([test(Outcome::Contradicted)]);
        assert_eq!(claim.outcome, Outcome::Supported);
        let claim = Claim::new("", "", vec![test(Outcome::Contradicted)]);
        let findings = Findings::Claims(vec![claim]);
        assert_eq!(findings.verdict(), Some(Verdict::NotReproduced));
        assert_eq!(findings.at_reduced_size(false).verdict(), Some(Verdict::Undecided));
        assert_eq!(Findings::Answers(vec![Answer::new("?", "1")]).verdict(), None);
    }

    #[test]
    fn names_are_those_of_serde() {
        for verdict in Verdict::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
        }
        assert_eq!(Verdict::InPart.to_string(), "reproduced in part");
    }
}
