//! Changes of run directories as server-sent events. Each client has a task that looks at the times of the
//! files once a second and ends when the client goes away.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, KeepAliveStream, Sse};
use futures_core::Stream;
use remanent_lab::runs;
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::error::ApiError;
use crate::server::Explorer;

/// How often the files are looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// Clients that are told at once.
const MOST: usize = 64;

static CLIENTS: AtomicUsize = AtomicUsize::new(0);

/// The events of a client.
pub struct Changes {
    receiver: Receiver<Event>,
}

impl Stream for Changes {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.receiver.poll_recv(context).map(|event| event.map(Ok))
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        CLIENTS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `GET /api/events`: `{"changed": […], "removed": […]}` whenever run directories change.
pub async fn changes(
    State(explorer): State<Arc<Explorer>>,
) -> Result<Sse<KeepAliveStream<Changes>>, ApiError> {
    if CLIENTS.fetch_add(1, Ordering::Relaxed) >= MOST {
        CLIENTS.fetch_sub(1, Ordering::Relaxed);
        let text = "too many pages are open";
        return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, text));
    }
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut before: Option<BTreeMap<String, SystemTime>> = None;
        while !sender.is_closed() {
            let looking = Arc::clone(&explorer);
            let Ok(now) = spawn_blocking(move || times(&looking)).await else { return };
            if let Some(before) = &before {
                let changed: Vec<&String> = now
                    .iter()
                    .filter(|(name, t)| before.get(*name) != Some(*t))
                    .map(|p| p.0)
                    .collect();
                let removed: Vec<&String> =
                    before.keys().filter(|name| !now.contains_key(*name)).collect();
                if !changed.is_empty() || !removed.is_empty() {
                    let data = json!({"changed": changed, "removed": removed}).to_string();
                    if sender.send(Event::default().data(data)).await.is_err() {
                        return;
                    }
                }
            }
            before = Some(now);
            sleep(PERIOD).await;
        }
    });
    Ok(Sse::new(Changes { receiver }).keep_alive(KeepAlive::default()))
}

/// When each run changed.
fn times(explorer: &Explorer) -> BTreeMap<String, SystemTime> {
    let root = explorer.runs.root();
    let of = |name: String| {
        let path = runs::resolve(root, &name)?;
        Some((name, runs::fingerprint(&path)?))
    };
    runs::find(root).into_iter().filter_map(of).collect()
}
