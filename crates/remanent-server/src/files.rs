//! Files of run directories that a browser can show: reports, pictures and tables.

use std::fs;
use std::path::Path as FilePath;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Response, header};
use remanent_lab::runs;
use remanent_store::files::read_whole;
use tokio::task::spawn_blocking;

use crate::error::{ApiError, typed};
use crate::server::Explorer;

/// The largest file.
const LARGEST: u64 = 64 << 20;
/// A report has pictures and a style of its own, and no script.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; sandbox allow-popups";

/// Types by the ends of names.
const TYPES: [(&str, &str); 5] = [
    ("html", "text/html; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("csv", "text/plain; charset=utf-8"),
    ("json", "application/json"),
];

fn kind(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    TYPES.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
}

/// Whether a file is of a type that is shown.
pub fn is_shown(name: &str) -> bool {
    !name.starts_with('.') && kind(name).is_some()
}

/// Reports in the folder of runs and in its folders, as paths below it.
pub fn reports(root: &FilePath) -> Vec<String> {
    let pages = |folder: &FilePath| -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let top = pages(root);
    let below = top.iter().filter(|path| path.is_dir()).flat_map(|path| pages(path));
    let mut found: Vec<String> = top
        .iter()
        .cloned()
        .chain(below)
        .filter(|path| path.extension().is_some_and(|end| end == "html") && path.is_file())
        .filter_map(|path| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned()))
        // A link may lead out of the folder.
        .filter(|name| runs::inside(root, name).is_some())
        .take(200)
        .collect();
    found.sort();
    found
}

/// `GET /files/PATH`.
pub async fn file(
    State(explorer): State<Arc<Explorer>>,
    Path(name): Path<String>,
) -> Result<Response<Body>, ApiError> {
    let missing = || ApiError::not_found("such file");
    let kind = kind(&name).ok_or_else(missing)?;
    let path = runs::inside(explorer.runs.root(), &name).ok_or_else(missing)?;
    let reading = spawn_blocking(move || {
        let about = fs::metadata(&path).map_err(|_| missing())?;
        if !about.is_file() {
            return Err(missing());
        }
        if about.len() > LARGEST {
            let text = format!("the file is larger than {} MB", LARGEST >> 20);
            return Err(ApiError::out_of_bounds(text));
        }
        read_whole(&path).map_err(|_| missing())
    });
    let bytes = reading.await.map_err(|_| ApiError::internal("the file cannot be read"))??;
    let mut response = typed(kind, bytes);
    let policy = HeaderValue::from_static(POLICY);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}
