//! The protocols: configurations inside the program, and what was published about them.

use remanent_lab::config;
use remanent_lab::experiment::{Error, Experiment, Prepared};
use remanent_lab::options::Options;
use remanent_lab::plan::{Layers, Plan};
use remanent_lab::training::Training;
use remanent_network::predictor::Predictor;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// A protocol as it lies in the program.
#[derive(Debug)]
pub struct Source {
    /// The name on the command line.
    pub name: &'static str,
    /// The configuration.
    pub config: &'static str,
}

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        &[$(Source { name: $name, config: include_str!(concat!("../../protocols/", $name, ".toml")) }),+]
    };
}

/// All protocols, batches first, then online streams.
pub static PROTOCOLS: &[Source] = sources![
    "script",
    "paper",
    "epochs",
    "vcl",
    "si",
    "metaplasticity",
    "sequence",
    "split",
    "one",
    "online-100",
    "online-200",
    "online-1000",
    "online-wide",
];

/// A published result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The learner, named as the case of the same learner.
    pub name: String,
    /// How the authors test it; none if no predictor here does that.
    pub predictor: Option<Predictor>,
    /// Accuracy in percent, averaged over the same tasks.
    pub accuracy: f64,
    /// Its uncertainty in percent, as published.
    pub error: Option<f64>,
    /// Where it was published.
    pub source: String,
}

/// A protocol whose configuration is read.
pub struct Protocol {
    /// The name on the command line.
    pub name: &'static str,
    /// A few words.
    pub title: String,
    /// The learners; what their cells need is loaded for all protocols together.
    pub prepared: Prepared<Training>,
    /// Published results.
    pub published: Vec<Published>,
}

impl Protocol {
    /// Reads a protocol: its small version if `quick`, with this number of trials if one is given.
    pub(super) fn read(source: &Source, quick: bool, seeds: Option<u32>) -> Result<Self, Error> {
        let file = config::parse_text(source.config, &format!("protocols/{}.toml", source.name))?;
        let published = published(&file)?;
        let flags = seeds.map(|seeds| ("seeds".to_owned(), Value::from(i64::from(seeds))));
        let layers = Layers { file, quick, flags: Table::from_iter(flags), ..Layers::default() };
        let plan = Plan::new(layers, Training::NAME, &<Training as Experiment>::Options::list())?;
        let title = plan.title.clone().unwrap_or_default();
        Ok(Self { name: source.name, title, prepared: Prepared::read(plan)?, published })
    }
}

fn published(file: &Table) -> Result<Vec<Published>, Error> {
    match file.get("published") {
        None => Ok(Vec::new()),
        Some(list) => list
            .clone()
            .try_into()
            .map_err(|error| Error::Other(format!("[[published]] is invalid: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_can_be_read_at_both_sizes() {
        for source in PROTOCOLS {
            for quick in [false, true] {
                let protocol = Protocol::read(source, quick, Some(2)).unwrap();
                assert_eq!(protocol.prepared.plan.seeds, 2, "{}", source.name);
                assert!(!protocol.title.is_empty(), "{}", source.name);
                let cases = &protocol.prepared.plan.cases;
                assert!(cases.iter().all(|case| case.name.is_some()), "{}", source.name);
            }
        }
    }

    /// A published number is compared with a measured one only if their names agree, so a name that is
    /// misspelt would go unnoticed.
    #[test]
    fn published_learners_are_cases_or_known_to_be_missing() {
        let without_case = [
            ("epochs", "presynaptic"),
            ("vcl", "VCL, real weights"),
            ("vcl", "improved VCL, real weights"),
            ("online-1000", "metaplasticity"),
            ("online-1000", "online EWC"),
            ("online-wide", "metaplasticity"),
            ("online-wide", "online EWC"),
        ];
        let mut missing = Vec::new();
        for source in PROTOCOLS {
            let protocol = Protocol::read(source, false, None).unwrap();
            let cases = &protocol.prepared.plan.cases;
            for published in &protocol.published {
                assert!((5.0..100.0).contains(&published.accuracy), "in percent");
                if cases.iter().all(|case| case.label() != published.name) {
                    missing.push((source.name, published.name.clone()));
                }
            }
        }
        let missing: Vec<(&str, &str)> = missing.iter().map(|(p, n)| (*p, n.as_str())).collect();
        assert_eq!(missing, without_case);
    }
}
