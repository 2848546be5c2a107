//! Trained networks: what the hard, the sampled and the mean-field network say about an image, and how sure
//! they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{Response, StatusCode};
use remanent_data::dataset::{Part, Pixels};
use remanent_data::images::Images;
use remanent_data::sources::Cache;
use remanent_data::stream::{Piece, StreamSpec, permutation};
use remanent_lab::runs;
use remanent_lab::training::{self, FoundCase};
use remanent_network::network::Network;
use remanent_network::predictor::{Predictor, predict as ask, test_stream};
use remanent_store::files::read_whole;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::compute::Effort;
use crate::error::{ApiError, json_answer};
use crate::pictures;
use crate::server::Explorer;

/// Networks that are drawn, and passes that are made, for one answer.
const DRAWS: usize = 32;
/// The largest file of a model.
const LARGEST: u64 = 512 << 20;
/// Networks and datasets that stay in memory.
const KEPT: usize = 4;
/// Time for the body of a request.
const PATIENCE: Duration = Duration::from_secs(15);

/// Networks and datasets that were used before.
pub struct Shelf {
    cache: Option<Cache>,
    networks: Mutex<HashMap<String, Arc<Loaded>>>,
    images: Mutex<HashMap<String, Arc<Images>>>,
}

/// A network with its provenance.
struct Loaded {
    network: Network,
    provenance: Value,
}

impl Shelf {
    pub fn new(cache: Option<Cache>) -> Self {
        Self { cache, networks: Mutex::default(), images: Mutex::default() }
    }

    /// The test images of a dataset of this machine. Only known names: a path would lead anywhere.
    pub fn images(&self, name: &str) -> Result<Arc<Images>, ApiError> {
        let known = |inputs| pictures::available(self.cache.as_ref(), inputs);
        if ![64, 784].iter().any(|inputs| known(*inputs).contains(&name)) {
            return Err(ApiError::not_found("such dataset here; see remanent data list"));
        }
        let shelf = || self.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(images) = shelf().get(name) {
            return Ok(Arc::clone(images));
        }
        let none = Cache::at(std::path::Path::new(""));
        let images = Images::open(name, self.cache.as_ref().unwrap_or(&none))
            .map_err(|error| ApiError::internal(error.to_string()))?;
        let images = Arc::new(images);
        put(&mut shelf(), name, &images);
        Ok(images)
    }

    fn network(&self, found: &training::FoundTrial) -> Result<Arc<Loaded>, ApiError> {
        let name = found.model.to_string_lossy().into_owned();
        let shelf = || self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = shelf().get(&name) {
            return Ok(Arc::clone(loaded));
        }
        let gone = || ApiError::not_found("model of this trial");
        let about = std::fs::metadata(&found.model).map_err(|_| gone())?;
        if about.len() > LARGEST {
            let text = format!("the model is larger than {} MB", LARGEST >> 20);
            return Err(ApiError::out_of_bounds(text));
        }
        let bytes = read_whole(&found.model).map_err(|_| gone())?;
        let (network, provenance) = remanent_network::model::decode(&bytes).map_err(|error| {
            ApiError::out_of_bounds(format!("the model cannot be used: {error}"))
        })?;
        let loaded = Arc::new(Loaded { network, provenance });
        put(&mut shelf(), &name, &loaded);
        Ok(loaded)
    }
}

/// Adds an entry, and makes room for it.
fn put<T>(shelf: &mut HashMap<String, Arc<T>>, name: &str, entry: &Arc<T>) {
    if shelf.len() >= KEPT
        && let Some(other) = shelf.keys().next().cloned()
    {
        shelf.remove(&other);
    }
    shelf.insert(name.to_owned(), Arc::clone(entry));
}

/// `GET /api/models`: the trials of all trainings that have left a network.
pub async fn list(State(explorer): State<Arc<Explorer>>) -> Result<Response<Body>, ApiError> {
    let all = spawn_blocking(move || {
        let mut models = Vec::new();
        for name in runs::find(explorer.runs.root()) {
            models.extend(models_of(&explorer, &name).unwrap_or_default());
        }
        let cache = explorer.models.cache.as_ref();
        let datasets = json!({
            "64": pictures::available(cache, 64),
            "784": pictures::available(cache, 784),
        });
        json!({"models": models, "datasets": datasets})
    });
    json_answer(&all.await.map_err(|_| ApiError::internal("the list cannot be made"))?)
}

fn cases_of(explorer: &Explorer, name: &str) -> Option<Vec<FoundCase>> {
    let directory = runs::resolve(explorer.runs.root(), name)?;
    let run = remanent_lab::found::read(&directory).ok()?;
    training::found_cases(&run).ok()
}

fn models_of(explorer: &Explorer, name: &str) -> Option<Vec<Value>> {
    let cases = cases_of(explorer, name)?;
    let configs: Vec<Value> = cases.iter().map(|case| case.config.clone()).collect();
    let labels = remanent_lab::plan::labels(&configs);
    let mut models = Vec::new();
    for (index, (case, label)) in cases.iter().zip(labels).enumerate() {
        let stream = case.config["stream"].as_str().unwrap_or_default();
        let inputs = case.trials.iter().find_map(|trial| inputs_of(explorer, stream, trial));
        for trial in case.trials.iter().filter(|trial| trial.model.is_file()) {
            models.push(json!({
                "run": name,
                "case": index,
                "trial": trial.trial,
                "label": label,
                "learner": case.config["learner"],
                "stream": stream,
                "inputs": inputs,
                "tasks": tasks(stream).len(),
            }));
        }
    }
    Some(models)
}

/// Pixels of the images of a network: those of its stream, if that tells, or of the network itself.
fn inputs_of(explorer: &Explorer, stream: &str, trial: &training::FoundTrial) -> Option<usize> {
    let spec = StreamSpec::is_written_out(stream).then(|| StreamSpec::read(stream).ok()).flatten();
    match spec.and_then(|spec| spec.datasets().first().map(|name| (*name).to_owned())).as_deref() {
        Some("digits") => Some(64),
        Some("mnist" | "fashion-mnist") => Some(784),
        _ => Some(explorer.models.network(trial).ok()?.network.architecture().inputs()),
    }
}

/// A task of a stream, as far as a network must know it.
struct TaskOf {
    is_permuted: bool,
    /// The first class, if the task has only some.
    first_class: usize,
}

/// The tasks that a stream states; one if they are in a file, which is not read.
fn tasks(stream: &str) -> Vec<TaskOf> {
    let plain = || TaskOf { is_permuted: false, first_class: 0 };
    if !StreamSpec::is_written_out(stream) {
        return vec![plain()];
    }
    let Ok(spec) = StreamSpec::read(stream) else { return vec![plain()] };
    let mut tasks = Vec::new();
    for piece in spec.pieces() {
        match piece {
            Piece::Permuted { tasks: count, .. } => {
                let permuted = || TaskOf { is_permuted: true, first_class: 0 };
                tasks.extend((0..*count).map(|_| permuted()));
            }
            Piece::Rotated { tasks: count, .. } => tasks.extend((0..*count).map(|_| plain())),
            Piece::Drift { permutations, stages, .. } => {
                let count = (permutations.saturating_sub(1)) * stages + 1;
                let permuted = || TaskOf { is_permuted: true, first_class: 0 };
                tasks.extend((0..count).map(|_| permuted()));
            }
            Piece::Sequence { datasets } => tasks.extend(datasets.iter().map(|_| plain())),
            Piece::Split { classes_per_task, .. } => {
                let classes = 10_usize.div_ceil((*classes_per_task).max(1));
                let of = |task| TaskOf { is_permuted: false, first_class: task * classes_per_task };
                tasks.extend((0..classes).map(of));
            }
        }
    }
    tasks
}

/// What a network is asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    run: String,
    case: usize,
    trial: u32,
    /// From 0.
    #[serde(default)]
    task: usize,
    /// From 0 to 1, row by row.
    pixels: Vec<f32>,
}

/// `POST /api/predict`.
pub async fn predict(
    State(explorer): State<Arc<Explorer>>,
    request: Request,
) -> Result<Response<Body>, ApiError> {
    if explorer.read_only {
        let text = "this server shows files only (--read-only)";
        return Err(ApiError::new(StatusCode::FORBIDDEN, text));
    }
    let late = || ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come");
    let body = timeout(PATIENCE, Bytes::from_request(request, &())).await.map_err(|_| late())?;
    let body = body.map_err(|refused| ApiError::new(refused.status(), refused.body_text()))?;
    let asked: Asked = serde_json::from_slice(&body)
        .map_err(|error| ApiError::malformed(format!("the question cannot be read: {error}")))?;
    if !asked.pixels.iter().all(|pixel| (0.0..=1.0).contains(pixel)) {
        return Err(ApiError::out_of_bounds("pixels must be between 0 and 1"));
    }
    let shared = Arc::clone(&explorer);
    let answer =
        explorer.workshop.compute(Effort::Short, move |_| answer(&shared, asked)).await??;
    json_answer(&answer)
}

fn answer(explorer: &Explorer, asked: Asked) -> Result<Value, ApiError> {
    explorer.runs.resolve(&asked.run)?;
    let missing = || ApiError::not_found("model of this trial");
    let cases = cases_of(explorer, &asked.run).ok_or_else(missing)?;
    let case = cases.get(asked.case).ok_or_else(missing)?;
    let found = case.trials.iter().find(|trial| trial.trial == asked.trial).ok_or_else(missing)?;
    let loaded = explorer.models.network(found)?;
    let Loaded { network, provenance } = &*loaded;
    let inputs = network.architecture().inputs();
    if asked.pixels.len() != inputs {
        let text =
            format!("the network takes {inputs} pixels, and the image has {}", asked.pixels.len());
        return Err(ApiError::out_of_bounds(text));
    }
    let tasks = tasks(case.config["stream"].as_str().unwrap_or_default());
    let task = tasks.get(asked.task).ok_or_else(|| {
        ApiError::out_of_bounds(format!(
            "task must be between 0 and {}",
            tasks.len().saturating_sub(1)
        ))
    })?;
    let seed = provenance["seed"].as_u64().unwrap_or(1);
    let part = Part { pixels: Pixels::Floats(asked.pixels), labels: vec![0] };
    let order = task.is_permuted.then(|| permutation(inputs, seed, asked.trial, asked.task as u32));
    let view = match &order {
        Some(order) => part.view(inputs).permuted(order),
        None => part.view(inputs),
    };
    let draw = |predictor, number: usize| {
        let stream = test_stream(seed, asked.trial, number);
        ask(network, &[view], predictor, 1, stream).remove(0).values
    };
    let of = |predictor: Predictor, draws: usize| {
        described(&(0..draws).map(|number| draw(predictor, number)).collect::<Vec<_>>())
    };
    Ok(json!({
        "first_class": task.first_class,
        "uncertainty_by_layer": network.uncertainty(),
        "hard": of(Predictor::Hard, 1),
        "sampled": of(Predictor::Sampled, DRAWS),
        // A pass with Gaussian preactivations is one draw of the mean-field network.
        "mean_field": of(Predictor::Stochastic, DRAWS),
    }))
}

/// The mean over draws, its spread, and how sure the network is: the entropy of the mean in bits, and the
/// part of it by which the draws disagree (mutual information).
fn described(draws: &[Vec<f32>]) -> Value {
    let entropy =
        |p: &[f64]| -> f64 { p.iter().filter(|p| **p > 0.0).map(|p| -p * p.log2()).sum() };
    let count = draws.len() as f64;
    let classes = draws.first().map_or(0, Vec::len);
    let at = |class: usize| draws.iter().map(move |draw| f64::from(draw[class]));
    let mean: Vec<f64> = (0..classes).map(|class| at(class).sum::<f64>() / count).collect();
    let spread = |(class, mean): (usize, &f64)| {
        (at(class).map(|p| (p - mean).powi(2)).sum::<f64>() / count).sqrt()
    };
    let deviation: Vec<f64> = mean.iter().enumerate().map(spread).collect();
    let each = draws.iter().map(|draw| {
        let draw: Vec<f64> = draw.iter().map(|p| f64::from(*p)).collect();
        entropy(&draw)
    });
    let expected = each.sum::<f64>() / count;
    let total = entropy(&mean);
    json!({
        "draws": draws.len(),
        "probabilities": mean,
        "standard_deviations": deviation,
        "entropy_bits": total,
        "mutual_information_bits": (total - expected).max(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disagreement_is_told_from_doubt() {
        let doubt = described(&[vec![0.5, 0.5], vec![0.5, 0.5]]);
        let disagreement = described(&[vec![1.0, 0.0], vec![0.0, 1.0]]);
        for (found, mutual) in [(doubt, 0.0), (disagreement, 1.0)] {
            assert_eq!(found["entropy_bits"], 1.0);
            assert_eq!(found["mutual_information_bits"], mutual);
        }
        assert_eq!(described(&[vec![1.0, 0.0]])["entropy_bits"], 0.0);
    }

    #[test]
    fn tasks_of_a_stream() {
        let permuted = tasks("permuted:digits:3");
        assert!(permuted.len() == 3 && permuted.iter().all(|task| task.is_permuted));
        assert_eq!(tasks("split:digits:2")[1].first_class, 2);
        assert_eq!(tasks("/etc/passwd").len(), 1);
    }
}
