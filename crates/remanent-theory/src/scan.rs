//! Scans of a chain over one or two of its parameters.

use rayon::prelude::*;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use thiserror::Error;

use crate::chain::{Chain, ChainParameters, ChainResult};
use crate::parameters::DomainError;

/// What is scanned: a parameter of all tasks (steps), or of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// α.
    Alpha,
    /// β.
    Beta,
    /// γ.
    Gamma,
    /// r_0.
    R0,
    /// λ.
    Lambda,
    /// ρ.
    Rho,
}

/// A name that is not a parameter of a chain.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ScanError {
    /// Unknown name.
    #[error(
        "cannot scan '{0}': use alpha, beta, gamma, r0, lambda or rho, for one task (step) as alpha2, beta2, gamma1, r0_1"
    )]
    UnknownName(String),
    /// A task that does not exist.
    #[error("cannot scan '{name}': there are only {count} of these")]
    NoSuchTask {
        /// The name as given.
        name: String,
        /// How many there are.
        count: usize,
    },
    /// One parameter in two scans.
    #[error("'{first}' and '{second}' scan the same parameter; scan each parameter once")]
    Twice {
        /// The scan that would have no effect.
        first: String,
        /// The one that sets its parameters again.
        second: String,
    },
    /// A bad value.
    #[error(transparent)]
    Parameter(#[from] DomainError),
}

/// One scanned parameter and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanAxis {
    /// As the user named it.
    pub name: String,
    /// What it is.
    pub quantity: Quantity,
    /// Which task (step), from 0; all of them if `None`.
    pub index: Option<usize>,
    /// The values.
    pub values: Vec<f64>,
}

impl ScanAxis {
    /// Reads a name like `alpha2` or `r0`; `alpha.2`, as simulations call it, is `alpha2`.
    pub fn new(name: &str, values: Vec<f64>) -> Result<Self, ScanError> {
        let unknown = || ScanError::UnknownName(name.to_owned());
        let (quantity, rest) = [
            ("alpha", Quantity::Alpha),
            ("beta", Quantity::Beta),
            ("gamma", Quantity::Gamma),
            ("r0", Quantity::R0),
            ("lambda", Quantity::Lambda),
            ("rho", Quantity::Rho),
        ]
        .into_iter()
        .find_map(|(word, q)| name.strip_prefix(word).map(|rest| (q, rest)))
        .ok_or_else(unknown)?;
        let digits = rest.strip_prefix(['_', '.']).unwrap_or(rest);
        let index = if rest.is_empty() {
            None
        } else {
            let number: usize = digits.parse().map_err(|_| unknown())?;
            Some(number.checked_sub(1).ok_or_else(unknown)?)
        };
        let between = if quantity == Quantity::R0 { "_" } else { "" };
        Ok(Self { name: name.replace('.', between), quantity, index, values })
    }

    /// Whether it sets everything again that another scan has set before, in a chain of this number of tasks.
    fn covers(&self, before: &Self, tasks: usize) -> bool {
        let steps = tasks.saturating_sub(1);
        let count = match self.quantity {
            Quantity::Alpha | Quantity::Beta => tasks,
            Quantity::Gamma | Quantity::R0 | Quantity::Lambda | Quantity::Rho => steps,
        };
        let same = self.index == before.index || count <= 1;
        self.quantity == before.quantity && (self.index.is_none() || same)
    }

    fn apply(&self, parameters: &mut ChainParameters, value: f64) -> Result<(), ScanError> {
        let tasks = parameters.alpha.len();
        let steps = tasks.saturating_sub(1);
        for list in [&mut parameters.lambda, &mut parameters.rho] {
            if list.is_empty() {
                list.push(1.0);
            }
        }
        let (list, count) = match self.quantity {
            Quantity::Alpha => (&mut parameters.alpha, tasks),
            Quantity::Beta => (&mut parameters.beta, tasks),
            Quantity::Gamma => (&mut parameters.gamma, steps),
            Quantity::R0 => (&mut parameters.r_0, steps),
            Quantity::Lambda => (&mut parameters.lambda, steps),
            Quantity::Rho => (&mut parameters.rho, steps),
        };
        if list.len() == 1 {
            *list = vec![list[0]; count.max(1)];
        }
        match self.index {
            None => list.iter_mut().for_each(|v| *v = value),
            Some(i) if i < count && i < list.len() => list[i] = value,
            Some(_) => {
                return Err(ScanError::NoSuchTask { name: self.name.clone(), count });
            }
        }
        Ok(())
    }
}

/// A chain at one point of a scan; in JSON one object with the scanned values and `tasks`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanPoint {
    /// The scanned values, by name.
    pub at: Vec<(String, f64)>,
    /// The chain there.
    pub chain: ChainResult,
}

impl Serialize for ScanPoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.at.len() + 1))?;
        for (name, value) in &self.at {
            map.serialize_entry(name, value)?;
        }
        map.serialize_entry("tasks", &self.chain.tasks)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ScanPoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = ScanPoint;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("scanned values and tasks")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ScanPoint, A::Error> {
                let (mut at, mut tasks) = (vec![], None);
                while let Some(name) = map.next_key::<String>()? {
                    if name == "tasks" {
                        tasks = Some(map.next_value()?);
                    } else {
                        at.push((name, map.next_value()?));
                    }
                }
                let tasks = tasks.ok_or_else(|| A::Error::missing_field("tasks"))?;
                Ok(ScanPoint { at, chain: ChainResult { tasks } })
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl ScanPoint {
    /// A scanned value.
    pub fn scanned(&self, name: &str) -> Option<f64> {
        self.at.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    }
}

/// The scanned values by name, and the chain that they make, not yet solved.
pub type ScanCase = (Vec<(String, f64)>, Chain);

/// The scanned values by name, and the parameters with them.
pub type ScanParameters = (Vec<(String, f64)>, ChainParameters);

/// The chains at every point of the product of the axes, checked; the last axis varies
/// fastest.
pub fn cases(parameters: &ChainParameters, axes: &[ScanAxis]) -> Result<Vec<ScanCase>, ScanError> {
    let points = product(parameters, axes)?.into_iter();
    points.map(|(at, p)| Ok((at, p.check()?))).collect()
}

/// The parameters at every point of the product of the axes, not checked; the last axis varies
/// fastest.
pub fn product(
    parameters: &ChainParameters,
    axes: &[ScanAxis],
) -> Result<Vec<ScanParameters>, ScanError> {
    for (i, axis) in axes.iter().enumerate() {
        let covered = |before: &&ScanAxis| axis.covers(before, parameters.alpha.len());
        if let Some(before) = axes[..i].iter().find(covered) {
            let (first, second) = (before.name.clone(), axis.name.clone());
            return Err(ScanError::Twice { first, second });
        }
    }
    let mut points: Vec<ScanParameters> = vec![(vec![], parameters.clone())];
    for axis in axes {
        let mut next = Vec::with_capacity(points.len() * axis.values.len());
        for (at, base) in &points {
            for value in &axis.values {
                let mut p = base.clone();
                axis.apply(&mut p, *value)?;
                let mut at = at.clone();
                at.push((axis.name.clone(), *value));
                next.push((at, p));
            }
        }
        points = next;
    }
    Ok(points)
}

/// Solves the chain at every point of the product of the axes; the last axis
/// varies fastest. `done` is called after each point, from any thread.
pub fn scan(
    parameters: &ChainParameters,
    axes: &[ScanAxis],
    done: &(dyn Fn() + Sync),
) -> Result<Vec<ScanPoint>, ScanError> {
    Ok(cases(parameters, axes)?
        .into_par_iter()
        .map(|(at, chain)| {
            let point = ScanPoint { at, chain: chain.solve() };
            done();
            point
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_scanned_once() {
        let parameters = |tasks: usize| ChainParameters {
            alpha: vec![1.0; tasks],
            beta: vec![5.0],
            r_0: vec![0.5],
            gamma: vec![1.0],
            ..Default::default()
        };
        let axis = |name: &str| ScanAxis::new(name, vec![0.5]).unwrap();
        let twice = |tasks: usize, names: [&str; 2]| {
            let found = cases(&parameters(tasks), &names.map(axis));
            matches!(found, Err(ScanError::Twice { .. }))
        };
        for names in
            [["alpha2", "alpha2"], ["alpha", "alpha"], ["alpha2", "alpha_2"], ["alpha2", "alpha"]]
        {
            assert!(twice(3, names), "{names:?}");
        }
        // With two tasks there is one step.
        assert!(twice(2, ["r0", "r0_1"]) && twice(2, ["gamma_1", "gamma"]));
        for names in [["alpha", "alpha2"], ["alpha1", "alpha2"], ["r0", "r0_2"], ["beta", "r0"]] {
            assert!(!twice(3, names), "{names:?}");
        }
    }
}
