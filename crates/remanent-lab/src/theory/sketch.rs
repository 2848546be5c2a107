//! Rough answers in a fraction of the time, for a picture that follows a slider. They have the form of the answers of
//! the command line; solutions say that they are `inaccurate`.

use remanent_theory::outline::{outline, outline_of_chains};
use remanent_theory::scan::{ScanPoint, cases};
use remanent_theory::single::SingleTask;
use serde_json::{Value, json};

use super::query::{Ask, Query, QueryError};
use super::report::chain_json;

impl Query {
    /// Whether there are sketches of the answer: of `branches` and `chain`, with replica symmetry.
    pub fn can_be_sketched(&self) -> bool {
        matches!(self.0, Ask::Branches { .. } | Ask::Chain { .. })
    }

    /// A sketch of the answer, in its form; none if there are no sketches of it.
    pub fn sketch(&self) -> Result<Option<Value>, QueryError> {
        Ok(match &self.0 {
            Ask::Branches { beta, low, high, prior } => {
                let task = SingleTask::new(*beta)?.with_prior(*prior);
                Some(json!(outline(&task, *low, *high)?))
            }
            Ask::Chain { parameters, axes } => {
                let (places, chains): (Vec<_>, Vec<_>) =
                    cases(parameters, axes)?.into_iter().unzip();
                let chains = outline_of_chains(chains).into_iter();
                let points: Vec<ScanPoint> = places
                    .into_iter()
                    .zip(chains)
                    .map(|(at, chain)| ScanPoint { at, chain })
                    .collect();
                Some(chain_json(&points, !axes.is_empty()))
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sketches_have_the_form_of_answers() {
        let sketch = |text: &str| {
            let query = Query::from_table(&text.parse().unwrap()).unwrap();
            assert_eq!(query.can_be_sketched(), query.sketch().unwrap().is_some());
            query.sketch().unwrap()
        };
        let chain = "ask = 'chain'\nalpha = [2.0, 2.0]\nr0 = 0.5\n";
        let one = sketch(chain).unwrap();
        assert_eq!(one["tasks"][1]["eps_by_task"].as_array().unwrap().len(), 2);
        let scan = sketch(&format!("{chain}scan = {{ gamma = [0.0, 1.0] }}")).unwrap();
        assert_eq!(scan[1]["gamma"], 1.0);
        assert_eq!(scan[1]["tasks"].as_array().unwrap().len(), 2);
        let curve = sketch("ask = 'branches'\nbeta = 20").unwrap();
        assert!(curve["rows"].as_array().unwrap().len() > 30);
        assert_eq!(sketch("ask = 'single'\nalpha = 1.0"), None);
    }
}
