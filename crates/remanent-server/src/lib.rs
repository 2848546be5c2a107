//! The explorer: the theory under a slider, runs while they run, and trained networks, in a browser.
//!
//! [`Server::bind`] listens, [`Server::run`] serves until it is told to stop. Everything that the page
//! needs is inside the program; nothing is loaded from elsewhere and nothing is written.
//!
//! | path | answer | module |
//! |---|---|---|
//! | `/`, `/assets/…` | the page | `assets` |
//! | `/api/theory/QUESTION?…` | what `remanent theory QUESTION --format json` prints | `theory` |
//! | `/api/runs`, `/api/run/NAME` | run directories, and one of them | `runs` |
//! | `/api/events` | changes of run directories, as server-sent events | `events` |
//! | `/files/NAME/…` | reports and pictures in a run directory | `files` |
//! | `/api/models`, `/api/predict` | networks, and what they say about an image | `models` |
//!
//! Requests are checked before they are routed (`guard`), computations are bounded and end when the
//! client goes away (`compute`).

mod address;
mod assets;
mod compute;
mod connection;
mod error;
mod events;
mod files;
mod guard;
mod models;
mod pictures;
mod runs;
mod server;
mod theory;

pub use address::{Address, AddressError};
pub use server::{Options, ServeError, Server};
