//! `remanent serve`: the explorer.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use remanent_data::sources::Cache;
use remanent_server::{Address, Options, Server};

use crate::experiment::{INTERRUPTED, catch_interrupts};
use crate::output::{self, Outcome, UsageError};

const EXAMPLES: &str = "\
Examples:
  remanent serve
  remanent serve --open --runs runs
  remanent serve --bind 0.0.0.0 --port 8117";

/// Explore the theory, runs and trained networks in a browser
///
/// Prints the address of the page on the first line. The page shows the theory for the values of its sliders,
/// the run directories while they run, and what trained networks say about images. It is part of the program:
/// nothing is loaded from elsewhere, and nothing is written. Only this machine can reach it unless --bind is
/// given. Ctrl-C ends it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// Port; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8117)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Directory of the run directories
    #[arg(long, value_name = "DIR", default_value = "runs")]
    runs: PathBuf,
    /// Show runs only: refuse computations of the theory and of networks
    #[arg(long)]
    read_only: bool,
    /// Directory of the datasets [default: as in remanent data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Listen on this address of the machine, so that others reach it; a token is then needed, and is part
    /// of the printed address [default: 127.0.0.1]
    #[arg(long, value_name = "IP", help_heading = "Other machines")]
    bind: Option<IpAddr>,
    /// The token, at least 16 letters and digits [default: a random one]
    #[arg(long, value_name = "TOKEN", help_heading = "Other machines")]
    token: Option<String>,
    /// Accept requests to this name of the machine besides its addresses
    #[arg(long, value_name = "NAME", help_heading = "Other machines")]
    host: Vec<String>,
}

impl Serve {
    /// Runs it until Ctrl-C.
    pub fn run(self, quiet: bool, threads: Option<usize>) -> anyhow::Result<Outcome> {
        if self.runs.exists() && !self.runs.is_dir() {
            let shown = self.runs.display();
            return Err(UsageError::new(format!("--runs {shown} is not a directory")).into());
        }
        let mut address = match (self.bind, self.token) {
            (None, None) => Address::loopback(self.port),
            (bind, token) => {
                let ip = bind.unwrap_or(Address::loopback(0).socket.ip());
                Address::bind(ip, self.port, token)
                    .map_err(|error| UsageError::new(format!("--token: {error}")))?
            }
        };
        address.hosts = self.host;
        let cache = match self.data_dir {
            Some(directory) => Some(Cache::at(&directory)),
            None => Cache::from_environment(),
        };
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or_else(cores);
        let options =
            Options { address, runs: self.runs.clone(), cache, read_only: self.read_only, threads };
        let server = Server::bind(options)?;
        catch_interrupts()?;
        let url = server.url();
        output::print(&format!("{url}\n"))?;
        if !self.runs.exists() {
            let shown = self.runs.display();
            output::remark(
                quiet,
                &format!("note: {shown} does not exist yet; runs are shown when it does"),
            );
        }
        output::remark(quiet, "Ctrl-C ends the server");
        if self.open {
            open(&url, quiet);
        }
        server.run(&INTERRUPTED);
        Ok(Outcome::Done)
    }
}

/// Opens an address with the program that the system has for it.
fn open(url: &str, quiet: bool) {
    let programs: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open"] };
    let start = |program: &&str| {
        let silent = || Stdio::null();
        Command::new(program)
            .arg(url)
            .stdin(silent())
            .stdout(silent())
            .stderr(silent())
            .spawn()
            .is_ok()
    };
    if !programs.iter().any(start) {
        output::remark(
            quiet,
            "note: no program to open a browser was found; open the address yourself",
        );
    }
}
