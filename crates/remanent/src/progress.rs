//! How far a command has come: a bar on a terminal, a line now and then without one, or JSON lines
//! (`--progress json`). A run directory also gets a small file, which `remanent runs` and the explorer read.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::ProgressBar;
use remanent_lab::runs::progress::{self, Progress};
use remanent_store::{Watcher, amounts};
use serde_json::json;

use crate::output;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// Looks between two lines without a terminal: half a minute.
const LOOKS_PER_LINE: u32 = 30;
/// Looks between two files.
const LOOKS_PER_FILE: u32 = 2;

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A bar on a terminal; otherwise a line every 30 seconds
    #[default]
    Auto,
    /// JSON lines on standard error, every second
    Json,
    /// Nothing
    None,
}

/// The form that the user has chosen.
pub static FORM: OnceLock<Form> = OnceLock::new();

/// Progress and messages on standard error. What concerns the user's results is said even with
/// `--quiet`.
pub struct Voice {
    shared: Arc<Shared>,
    clock: Option<JoinHandle<()>>,
}

struct Shared {
    bar: ProgressBar,
    quiet: bool,
    form: Form,
    /// Whether lines are written.
    has_lines: bool,
    directory: Option<PathBuf>,
    unit: &'static str,
    total: u64,
    done: AtomicU64,
    started: Instant,
    /// When, and at how much, the pace begins to be measured: what is found done takes no time.
    base: Mutex<Option<(Instant, u64)>>,
    has_ended: AtomicBool,
}

impl Voice {
    /// For so many units of work.
    pub fn new(total: u64, unit: &'static str, quiet: bool) -> Self {
        Self::build(total, unit, quiet, None)
    }

    /// The same for a run in a directory.
    pub fn of_run(total: u64, unit: &'static str, quiet: bool, directory: PathBuf) -> Self {
        Self::build(total, unit, quiet, Some(directory))
    }

    fn build(total: u64, unit: &'static str, quiet: bool, directory: Option<PathBuf>) -> Self {
        let form = FORM.get().copied().unwrap_or_default();
        let has_bar = form == Form::Auto && !quiet && std::io::stderr().is_terminal();
        let has_lines = form == Form::Json || (form == Form::Auto && !quiet && !has_bar);
        let shared = Arc::new(Shared {
            bar: if has_bar {
                output::progress(total as usize, quiet)
            } else {
                ProgressBar::hidden()
            },
            quiet,
            form,
            has_lines,
            unit,
            total,
            done: AtomicU64::new(0),
            started: Instant::now(),
            base: Mutex::new(None),
            has_ended: AtomicBool::new(false),
            directory,
        });
        let clock = (has_lines || shared.directory.is_some()).then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.tick())
        });
        Self { shared, clock }
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Relaxed);
        if let Some(clock) = self.clock.take() {
            clock.thread().unpark();
            let _ = clock.join();
        }
        self.shared.bar.finish_and_clear();
    }
}

impl Shared {
    fn tick(&self) {
        for look in 1_u32.. {
            thread::park_timeout(PERIOD);
            let has_ended = self.has_ended.load(Ordering::Relaxed);
            let now = self.now(has_ended);
            let has_begun = now.done > 0;
            if self.form == Form::Json && (has_begun || has_ended) {
                self.say_json(if has_ended { "end" } else { "progress" }, &now);
            } else if self.has_lines && !has_ended && look.is_multiple_of(LOOKS_PER_LINE) {
                output::say(&line(&now));
            }
            // A directory that was refused has seen no work, and nothing is written to it.
            if let Some(directory) = self.directory.as_ref().filter(|_| has_begun)
                && (has_ended || look.is_multiple_of(LOOKS_PER_FILE))
            {
                now.write(directory);
            }
            if has_ended {
                return;
            }
        }
    }

    fn say_json(&self, event: &str, now: &Progress) {
        output::say(
            &json!({
                "event": event,
                "done": now.done,
                "total": now.total,
                "unit": now.unit,
                "seconds": now.seconds,
                "seconds_left": now.seconds_left,
            })
            .to_string(),
        );
    }

    fn now(&self, has_ended: bool) -> Progress {
        let done = self.done.load(Ordering::Relaxed);
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, from) = *base.get_or_insert((Instant::now(), done));
        let (seconds, made) = (since.elapsed().as_secs_f64(), done.saturating_sub(from));
        let left = self.total.saturating_sub(done) as f64;
        Progress {
            done,
            total: self.total,
            unit: self.unit.to_owned(),
            seconds: self.started.elapsed().as_secs_f64(),
            seconds_left: (made > 0).then(|| left * seconds / made as f64),
            updated: progress::now(),
            has_ended,
        }
    }
}

/// `progress: 120 of 4000 steps (3 %), 12 min left`.
fn line(now: &Progress) -> String {
    let left = now
        .seconds_left
        .map_or_else(String::new, |seconds| format!(", about {} left", amounts::duration(seconds)));
    let percent = (100.0 * now.share()).floor();
    format!("progress: {} of {} {} ({percent} %){left}", now.done, now.total, now.unit)
}

impl Watcher for Voice {
    fn advance(&self, units: u64) {
        self.shared.done.fetch_add(units, Ordering::Relaxed);
        self.shared.bar.inc(units);
    }

    fn notice(&self, text: &str) {
        let shared = &self.shared;
        if shared.form == Form::Json {
            output::say(&json!({"event": "note", "text": text}).to_string());
        } else {
            shared.bar.suspend(|| output::say(&format!("note: {text}")));
        }
    }

    fn continued(&self, seconds: f64) {
        let text =
            format!("continuing a cell from its checkpoint after {seconds:.2} s of computing");
        let shared = &self.shared;
        if shared.form == Form::Json {
            output::say(&json!({"event": "note", "text": text}).to_string());
        } else {
            shared.bar.suspend(|| output::remark(shared.quiet, &text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_units_and_the_time_left() {
        let now = Progress {
            done: 120,
            total: 4000,
            unit: "steps".into(),
            seconds: 10.0,
            seconds_left: Some(600.0),
            updated: 0.0,
            has_ended: false,
        };
        assert_eq!(line(&now), "progress: 120 of 4000 steps (3 %), about 10 min left");
        let unknown = Progress { seconds_left: None, ..now };
        assert_eq!(line(&unknown), "progress: 120 of 4000 steps (3 %)");
    }
}
