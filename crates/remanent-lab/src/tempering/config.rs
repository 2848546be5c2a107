//! A case of parallel tempering, read from its options and checked.

use remanent_perceptron::parameters::Setting;
use remanent_perceptron::tempering::TemperingLearner;
use serde_json::{Value, json};
use toml::Table;

use crate::options::Options;
use crate::simulation::SettingError;
use crate::tempering::options::{Temperatures, TemperingOptions};

/// Raised whenever the same parameters give other numbers than before.
const REVISION: u32 = 1;

/// The hot end of the ladder over the wanted β, unless the user says otherwise: at β = 20 it is
/// β = 8, where replica symmetry is not broken at any α.
const HOT_END: f64 = 0.4;

/// One case: the problem and the sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct TemperingStudy {
    /// The problem.
    pub setting: Setting,
    /// The sampler.
    pub learner: TemperingLearner,
}

impl TemperingStudy {
    /// Reads and checks a case.
    pub fn from_table(table: &Table) -> Result<Self, SettingError> {
        let options = TemperingOptions::read(table)?;
        let alpha = options.alpha.ok_or(SettingError::Missing(
            "alpha",
            "state the patterns per weight, e.g. --alpha 1",
        ))?;
        let setting =
            Setting { n: options.n, alpha: vec![alpha], r_0: vec![0.0], fresh_patterns: 0 };
        setting.patterns()?;
        let learner = TemperingLearner {
            beta: options.beta,
            beta_low: options.beta_low.unwrap_or(HOT_END * options.beta),
            temperatures: match options.temperatures {
                Temperatures::Auto => None,
                Temperatures::Count(count) => Some(count),
            },
            replicas: options.replicas,
            warmup: options.warmup,
            sweeps: options.sweeps,
        };
        learner.check()?;
        Ok(Self { setting, learner })
    }

    /// α of the run: the number of patterns over N.
    pub fn alpha(&self) -> f64 {
        let n = self.setting.n as f64;
        (self.setting.alpha[0] * n).round() / n
    }

    /// Number of patterns.
    pub fn patterns(&self) -> usize {
        (self.setting.alpha[0] * self.setting.n as f64).round() as usize
    }

    /// Everything the results depend on, defaults included.
    pub fn key(&self) -> Value {
        let l = &self.learner;
        json!({
            "revision": REVISION,
            "n": self.setting.n,
            "alpha": self.setting.alpha[0],
            "beta": l.beta,
            "beta_low": l.beta_low,
            "temperatures": l.temperatures.map_or(json!("auto"), |count| json!(count)),
            "replicas": l.replicas,
            "warmup": l.warmup,
            "sweeps": l.sweeps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TemperingStudy, String> {
        TemperingStudy::from_table(&text.parse().unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn the_hot_end_follows_beta() {
        let study = read("alpha = 1").unwrap();
        assert_eq!((study.learner.beta_low, study.learner.temperatures), (8.0, None));
        assert_eq!(read("alpha = 1\nbeta = 10").unwrap().learner.beta_low, 4.0);
        assert_eq!(read("alpha = 1\ntemperatures = 5").unwrap().learner.temperatures, Some(5));
        // The default written out is the default.
        let written = read("alpha = 1\nbeta_low = 8\ntemperatures = 'auto'").unwrap();
        assert_eq!(written.key(), study.key());
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (text, told) in [
            ("n = 10", "alpha is missing"),
            ("alpha = 0", "alpha = 0"),
            ("alpha = 1\nbeta_low = 30", "beta_low = 30"),
            ("alpha = 1\nreplicas = 3", "an even number"),
            ("alpha = 1\ntemperatures = 1", "temperatures = 1"),
            ("alpha = 1\ntemperatures = 'many'", "'auto'"),
            ("alpha = 1\nwarmup = 2", "warmup = 2"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(told), "{text}: {message}");
        }
    }
}
