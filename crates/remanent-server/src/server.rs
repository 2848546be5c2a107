//! The server: routes, and its life.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use remanent_data::sources::Cache;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use crate::address::Address;
use crate::compute::Workshop;
use crate::runs::Directory;
use crate::{assets, connection, error, events, files, guard, models, pictures, runs, theory};

/// The largest body of a request: an image with its parameters.
const LARGEST_BODY: usize = 128 << 10;

/// What is served, and where.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen.
    pub address: Address,
    /// The directory of the run directories. It need not exist yet.
    pub runs: PathBuf,
    /// Where datasets are, if anywhere.
    pub cache: Option<Cache>,
    /// Whether files are shown only, and nothing is computed.
    pub read_only: bool,
    /// Threads of a computation.
    pub threads: usize,
}

/// Why nothing is served.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is taken, or not of this machine.
    #[error("cannot listen on {address}: {cause}; choose another --port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        cause: io::Error,
    },
    /// The system gives no threads.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
}

/// What handlers need.
pub struct Explorer {
    pub workshop: Workshop,
    pub runs: Directory,
    pub models: models::Shelf,
    pub read_only: bool,
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    local: SocketAddr,
    token: Option<String>,
    router: Router,
}

impl Server {
    /// Listens. Requests are answered from [`run`](Self::run) on.
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let address = options.address.socket;
        let failed = |cause| ServeError::Listen { address, cause };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        let local = listener.local_addr()?;
        let token = options.address.token.clone();
        let router = router(options);
        Ok(Self { runtime, listener, local, token, router })
    }

    /// The address to open in a browser.
    pub fn url(&self) -> String {
        let mut local = self.local;
        if local.ip().is_unspecified() {
            local.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        match &self.token {
            Some(token) => format!("http://{local}/?token={token}"),
            None => format!("http://{local}/"),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.local
    }

    /// Serves until `stop` is set.
    pub fn run(self, stop: &AtomicBool) {
        let Self { runtime, listener, router, .. } = self;
        runtime.block_on(async {
            let accepting = tokio::spawn(connection::accept(listener, router));
            while !stop.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(100)).await;
            }
            accepting.abort();
        });
        // Computations notice that nobody waits for them any more.
        runtime.shutdown_timeout(Duration::from_millis(500));
    }
}

fn router(options: Options) -> Router {
    let Options { address, runs, cache, read_only, threads } = options;
    let explorer = Arc::new(Explorer {
        workshop: Workshop::new(threads),
        runs: Directory::new(runs),
        models: models::Shelf::new(cache),
        read_only,
    });
    Router::new()
        .route("/", get(assets::page))
        .route("/assets/{*name}", get(assets::asset))
        .route("/api/about", get(theory::about))
        .route("/api/theory/{question}", get(theory::answer))
        .route("/api/runs", get(runs::list))
        .route("/api/run/{*name}", get(runs::one))
        .route("/api/events", get(events::changes))
        .route("/files/{*path}", get(files::file))
        .route("/api/models", get(models::list))
        .route("/api/image", get(pictures::image))
        .route("/api/predict", post(models::predict))
        .fallback(async || error::ApiError::not_found("such page"))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn_with_state(Arc::new(address), guard::check))
        .with_state(explorer)
}
