//! Run directories: the list of all, and one with everything that came of it. The files are the truth; what
//! was read of them is kept as long as they do not change.

use std::collections::HashMap;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::Response;
use remanent_lab::runs::results::{self, Results};
use remanent_lab::runs::{self, Overview};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::compute::Effort;
use crate::error::{ApiError, json_answer};
use crate::files;
use crate::server::Explorer;

/// The folder of the run directories.
pub struct Directory {
    root: PathBuf,
    known: Mutex<HashMap<String, (SystemTime, Arc<Overview>)>>,
}

impl Directory {
    pub fn new(root: PathBuf) -> Self {
        Self { root, known: Mutex::new(HashMap::new()) }
    }

    /// The folder.
    pub fn root(&self) -> &FilePath {
        &self.root
    }

    /// The directory of a run.
    pub fn resolve(&self, name: &str) -> Result<PathBuf, ApiError> {
        runs::resolve(&self.root, name).ok_or_else(|| ApiError::not_found("such run"))
    }

    /// All runs, the last changed first, and names of those that cannot be read, with reasons.
    fn overview(&self) -> (Vec<Arc<Overview>>, Vec<(String, String)>) {
        let (mut all, mut unreadable) = (Vec::new(), Vec::new());
        for name in runs::find(&self.root) {
            match self.look(&name) {
                Ok(overview) => all.push(overview),
                Err(reason) => unreadable.push((name, reason)),
            }
        }
        all.sort_by(|a, b| b.modified.total_cmp(&a.modified));
        (all, unreadable)
    }

    fn look(&self, name: &str) -> Result<Arc<Overview>, String> {
        let path = runs::resolve(&self.root, name).ok_or("it is gone")?;
        let changed = runs::fingerprint(&path);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A run that changed just now may change again within the resolution of the clock, and one that is
        // under way stops when it falls silent.
        let is_settled = changed
            .and_then(|changed| changed.elapsed().ok())
            .is_some_and(|age| age.as_secs() > 90);
        if let Some((when, overview)) = known().get(name)
            && Some(*when) == changed
            && is_settled
        {
            return Ok(Arc::clone(overview));
        }
        let overview = Overview::read(&path, name).map_err(|error| error.to_string())?;
        let overview = Arc::new(overview);
        if let Some(changed) = changed {
            known().insert(name.to_owned(), (changed, Arc::clone(&overview)));
        }
        Ok(overview)
    }
}

/// `GET /api/runs`.
pub async fn list(State(explorer): State<Arc<Explorer>>) -> Result<Response<Body>, ApiError> {
    let all = spawn_blocking(move || {
        let (runs, unreadable) = explorer.runs.overview();
        let runs: Vec<Value> = runs.iter().map(|run| json!(**run)).collect();
        let unreadable: Vec<Value> = unreadable
            .iter()
            .map(|(name, reason)| json!({"name": name, "reason": reason}))
            .collect();
        json!({
            "directory": explorer.runs.root(),
            "runs": runs,
            "unreadable": unreadable,
            "reports": files::reports(explorer.runs.root()),
        })
    });
    json_answer(&all.await.map_err(|_| ApiError::internal("the list cannot be made"))?)
}

/// Files of a run that can be opened.
fn files_of(directory: &FilePath) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| files::is_shown(name) && name != "experiment.json").collect();
    names.sort();
    names
}

/// `GET /api/run/NAME`: its state, configuration and results. `compare=BETA` adds the theory beside a
/// simulation.
pub async fn one(
    State(explorer): State<Arc<Explorer>>,
    Path(name): Path<String>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Response<Body>, ApiError> {
    let compare = match &pairs[..] {
        [] => None,
        [(key, beta)] if key == "compare" => {
            let beta = beta.parse::<f64>().ok().filter(|beta| (0.01..=1000.0).contains(beta));
            let refused = || ApiError::out_of_bounds("compare must be a beta from 0.01 to 1000");
            Some(beta.ok_or_else(refused)?)
        }
        _ => return Err(ApiError::malformed("unknown parameter; a run takes compare=BETA")),
    };
    let directory = explorer.runs.resolve(&name)?;
    let reading = spawn_blocking(move || {
        let overview = Overview::read(&directory, &name).map_err(|error| error.to_string())?;
        let (_, results) = results::read(&directory).map_err(|error| error.to_string())?;
        Ok::<_, String>((overview, results, files_of(&directory)))
    });
    let read = reading.await.map_err(|_| ApiError::internal("the run cannot be read"))?;
    let (overview, results, files) = read.map_err(ApiError::out_of_bounds)?;
    let (results, reason) = match results {
        Ok(results) => (Some(results), None),
        Err(reason) => (None, Some(reason)),
    };
    let comparison = match (&results, compare) {
        (Some(results), Some(beta)) if overview.kind == "simulate" && !explorer.read_only => {
            Some(compared(&explorer, results.clone(), beta).await?)
        }
        _ => None,
    };
    json_answer(&json!({
        "overview": overview,
        "results": results,
        "reason": reason,
        "files": files,
        "comparison": comparison,
    }))
}

/// The theory beside every case.
async fn compared(explorer: &Explorer, results: Results, beta: f64) -> Result<Value, ApiError> {
    const MOST: usize = 50;
    if results.cases.len() > MOST {
        let text =
            format!("the run has more than {MOST} cases; use remanent simulate --compare theory");
        return Err(ApiError::out_of_bounds(text));
    }
    let solve = move |_: &std::sync::atomic::AtomicBool| {
        let of = |case| match results::compared(case, Some(beta)) {
            Ok(rows) => json!({"rows": rows}),
            Err(reason) => json!({"reason": reason}),
        };
        results.cases.iter().map(of).collect::<Vec<Value>>()
    };
    Ok(explorer.workshop.compute(Effort::Long, solve).await?.into())
}
