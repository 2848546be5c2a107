//! The thresholds of all judges, each with its reason. The same quantity has the same threshold in every
//! figure.
//!
//! They were fixed before the full-size runs that they judge; a change raises
//! [`RULES`](crate::verdict::RULES) and is told in the changelog.

use crate::verdict::Threshold;

/// A distance of errors or accuracies that matters to a user.
pub const CLOSE: Threshold = Threshold {
    value: 0.02,
    reason: "0.02 is what can be read off the paper's plots, and too little to change a choice of parameters",
};

/// A distance of errors where the paper claims a qualitative agreement only.
pub const ROUGHLY: Threshold = Threshold {
    value: 0.05,
    reason: "the paper says approximately, at least qualitatively: a tenth of the range from 0 to 0.5",
};

/// An error below which a task is learned.
pub const LEARNED: Threshold = Threshold {
    value: 0.05,
    reason: "nineteen of twenty new examples are answered as the teacher does",
};

/// An accuracy on images above which a task is learned.
pub const LEARNED_IMAGES: Threshold =
    Threshold { value: 0.85, reason: "the level that all learners of the paper's figure reach" };

/// An accuracy that may be lost where performance is preserved.
pub const PRESERVED: Threshold =
    Threshold { value: 0.1, reason: "nine tenths of what was right stay right" };

/// A change over the last tenth of training below which a curve is stable.
pub const STEADY: Threshold =
    Threshold { value: 0.01, reason: "half of the distance that matters, 0.02" };

/// A jump of the error above which a transition is not continuous.
pub const JUMP: Threshold = Threshold {
    value: 0.01,
    reason: "the paper calls an error of 0.01 perfect generalisation: a smaller jump has no consequence",
};

/// How near to the paper's α_c ≈ 1.7 a place must be.
pub const NEAR_ALPHA: Threshold =
    Threshold { value: 0.1, reason: "the paper states α_c with one decimal" };

/// A rise of the error that is a strong degradation.
pub const STRONGLY: Threshold =
    Threshold { value: 0.05, reason: "more than twice the distance that matters, 0.02" };

/// A part of a quantity below which its bound is tight.
pub const TIGHT: Threshold = Threshold {
    value: 0.1,
    reason: "a bound is tight if it can stand for the quantity itself within a tenth",
};

/// A share of trials that is most of them.
pub const MOST: Threshold = Threshold { value: 0.5, reason: "more than half of the trials" };

/// A relative deviation from the published exponent.
pub const ABOUT: Threshold =
    Threshold { value: 0.1, reason: "the paper says about 13.1: within a tenth" };

/// An accuracy that a hard binary network may lose.
pub const SMALL_LOSS: Threshold =
    Threshold { value: 0.01, reason: "half of the distance that matters, 0.02" };
