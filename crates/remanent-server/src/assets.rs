//! The page and what belongs to it, inside the program.

use axum::body::Body;
use axum::extract::Path;
use axum::http::Response;

use crate::error::{ApiError, typed};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($name:literal: $kind:expr,)+) => {
        &[$(($name, $kind, include_bytes!(concat!("../assets/", $name)).as_slice()),)+]
    };
}

/// Name, type and content.
const FILES: &[(&str, &str, &[u8])] = files! {
    "style.css": CSS,
    "main.js": SCRIPT,
    "dom.js": SCRIPT,
    "state.js": SCRIPT,
    "api.js": SCRIPT,
    "plot.js": SCRIPT,
    "theory.js": SCRIPT,
    "panels.js": SCRIPT,
    "runs.js": SCRIPT,
    "results.js": SCRIPT,
    "model.js": SCRIPT,
    "icon.svg": "image/svg+xml",
    "vendor/uPlot.esm.js": SCRIPT,
    "vendor/uPlot.min.css": CSS,
    "vendor/uPlot.LICENSE": "text/plain; charset=utf-8",
};

/// `GET /`.
pub async fn page() -> Response<Body> {
    typed(HTML, include_str!("../assets/index.html"))
}

/// `GET /assets/…`.
pub async fn asset(Path(name): Path<String>) -> Result<Response<Body>, ApiError> {
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let (_, kind, content) = found.ok_or_else(|| ApiError::not_found("such file"))?;
    Ok(typed(kind, *content))
}
