//! When accuracies are measured, and of which tasks.
//!
//! The accuracy of every task after every task costs time and memory that grow with the square of the
//! number of tasks. For long streams the other forms measure some of them: `last:K` and `curve:L` cost the
//! same after every task, however many came before.

use std::fmt;

use toml::Value;

use crate::options::{Kind, OptionValue};

/// When accuracies are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluate {
    /// After every epoch those of the tasks learned so far, after every task those of all tasks.
    Epoch,
    /// After every task those of all tasks.
    Task,
    /// After every task those of the last K tasks.
    Last(usize),
    /// After every N-th task, and the last, those of all tasks learned so far.
    Every(usize),
    /// After every task those of the tasks 0, 1, 2, 3, 4, 5, 10, 20, 50, 100, … up to L steps back.
    Curve(usize),
}

const FORMS: &str = "'epoch', 'task', 'last:K' (the last K tasks), 'every:N' (after every N-th task) or \
                     'curve:L' (tasks up to L steps back)";

/// L of `curve` alone.
const CURVE: usize = 100;

impl Evaluate {
    /// Whether only some of the accuracies are measured.
    pub fn is_sparse(self) -> bool {
        !matches!(self, Self::Epoch | Self::Task)
    }

    /// The tasks to measure after a task, in their order, both counted from 0, in a stream of `tasks`.
    pub fn tasks_after(self, task: usize, tasks: usize) -> Vec<usize> {
        match self {
            Self::Epoch | Self::Task => (0..tasks).collect(),
            Self::Last(count) => ((task + 1).saturating_sub(count)..=task).collect(),
            Self::Every(n) if (task + 1).is_multiple_of(n) || task + 1 == tasks => {
                (0..=task).collect()
            }
            Self::Every(_) => Vec::new(),
            Self::Curve(longest) => {
                let lags: Vec<usize> = lags(longest.min(task)).collect();
                lags.into_iter().rev().map(|lag| task - lag).collect()
            }
        }
    }
}

/// 0 to 5, then 10, 20, 50, 100, … up to the longest.
fn lags(longest: usize) -> impl Iterator<Item = usize> {
    let decades = (1..).map(|power| 10_usize.saturating_pow(power));
    let far =
        decades.take_while(move |ten| *ten <= longest).flat_map(|ten| [ten, 2 * ten, 5 * ten]);
    (0..=5).chain(far).filter(move |lag| *lag <= longest)
}

impl fmt::Display for Evaluate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Epoch => f.write_str("epoch"),
            Self::Task => f.write_str("task"),
            Self::Last(count) => write!(f, "last:{count}"),
            Self::Every(n) => write!(f, "every:{n}"),
            Self::Curve(longest) => write!(f, "curve:{longest}"),
        }
    }
}

impl OptionValue for Evaluate {
    const KIND: Kind = Kind::Text;

    fn read(value: &Value) -> Result<Self, String> {
        let text = value.as_str().unwrap_or_default().trim();
        let (word, number) = text.split_once(':').unwrap_or((text, ""));
        let count =
            number.trim().parse::<usize>().ok().filter(|count| (1..=10_000).contains(count));
        match (word.trim(), number, count) {
            ("epoch", "", _) => Ok(Self::Epoch),
            ("task", "", _) => Ok(Self::Task),
            ("curve", "", _) => Ok(Self::Curve(CURVE)),
            ("last", _, Some(count)) => Ok(Self::Last(count)),
            ("every", _, Some(n)) => Ok(Self::Every(n)),
            ("curve", _, Some(longest)) => Ok(Self::Curve(longest)),
            ("last" | "every" | "curve", _, None) => {
                Err(format!("{FORMS}, with a number from 1 to 10000"))
            }
            _ => Err(FORMS.into()),
        }
    }

    fn shown(&self) -> Option<String> {
        Some(self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Evaluate, String> {
        Evaluate::read(&Value::String(text.into()))
    }

    #[test]
    fn forms_are_read_and_written() {
        for text in ["epoch", "task", "last:5", "every:10", "curve:200"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("curve").unwrap(), Evaluate::Curve(100));
        for text in ["", "last", "last:0", "every:x", "epoch:3", "curve:-1", "lst:5"] {
            assert!(read(text).unwrap_err().contains("last:K"), "{text}");
        }
    }

    #[test]
    fn the_tasks_of_each_form() {
        assert_eq!(Evaluate::Last(3).tasks_after(1, 9), [0, 1]);
        assert_eq!(Evaluate::Last(3).tasks_after(7, 9), [5, 6, 7]);
        assert!(Evaluate::Every(4).tasks_after(2, 9).is_empty());
        assert_eq!(Evaluate::Every(4).tasks_after(3, 9), [0, 1, 2, 3]);
        assert_eq!(Evaluate::Every(4).tasks_after(8, 9).len(), 9);
        assert_eq!(Evaluate::Curve(20).tasks_after(2, 99), [0, 1, 2]);
        let far = Evaluate::Curve(60).tasks_after(70, 99);
        assert_eq!(far, [20, 50, 60, 65, 66, 67, 68, 69, 70]);
        assert_eq!(Evaluate::Task.tasks_after(0, 3), [0, 1, 2]);
    }

    /// What a long stream costs does not depend on its length.
    #[test]
    fn the_cost_of_a_task_is_bounded() {
        for form in [Evaluate::Last(5), Evaluate::Curve(1000)] {
            let most = (0..5000).map(|task| form.tasks_after(task, 5000).len()).max();
            assert!(most.unwrap() <= 13, "{form:?}");
        }
    }
}
