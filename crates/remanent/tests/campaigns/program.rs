//! Runs the program as a child process with bounds on its time and memory.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The program under test; cargo builds it together with the campaigns.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_remanent");

/// A run of the program that has not ended yet, and what it has written so far.
pub struct Running {
    child: Child,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    started: Instant,
}

/// How a run ended.
pub struct Ended {
    /// None if it was killed, by a bound or by the campaign.
    pub code: Option<i32>,
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub seconds: f64,
    /// Whether the bound on its time has ended it.
    pub is_late: bool,
}

/// Starts the program. `memory` bounds its address space, in bytes.
pub fn start(directory: &Path, arguments: &[String], memory: Option<u64>) -> Running {
    let mut command = match memory {
        Some(bytes) if cfg!(unix) => {
            let mut shell = Command::new("sh");
            let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", bytes >> 10);
            shell.args(["-c", &script, PROGRAM]);
            shell
        }
        _ => Command::new(PROGRAM),
    };
    let mut child = command
        .args(arguments)
        .current_dir(directory)
        .env("REMANENT_DATA", directory.join("no-data"))
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdout = read(child.stdout.take().expect("is a pipe"));
    let stderr = read(child.stderr.take().expect("is a pipe"));
    Running { child, stdout, stderr, started: Instant::now() }
}

/// Runs the program to its end, or to the end of its time.
pub fn run(directory: &Path, arguments: &[String], memory: Option<u64>, limit: Duration) -> Ended {
    let mut running = start(directory, arguments, memory);
    let (mut is_late, mut waited, mut last) = (false, Duration::ZERO, Instant::now());
    while running.is_running() {
        // Time for which both were paused, by a user or by a machine that sleeps, does not count.
        waited += last.elapsed().min(Duration::from_millis(100));
        last = Instant::now();
        if waited > limit {
            is_late = true;
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ended { is_late, ..running.end() }
}

impl Running {
    /// Whether it has not ended by itself.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("is our child").is_none()
    }

    /// Kills it (SIGKILL) unless it has ended, and says how it ended.
    pub fn end(mut self) -> Ended {
        // It may end in this moment, which is no error.
        let _ = self.child.kill();
        let status = self.child.wait().expect("is our child");
        let seconds = self.started.elapsed().as_secs_f64();
        let stdout = self.stdout.join().expect("reads a pipe");
        let stderr = self.stderr.join().expect("reads a pipe");
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Ended { code: status.code(), status, stdout, stderr, seconds, is_late: false }
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is all that there is.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// The words of a command line.
pub fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
