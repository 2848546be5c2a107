//! Campaigns: many random attempts to break the program, each one command.
//!
//! ```sh
//! cargo test --release -p remanent --test campaigns -- kills --count 1000 --seed 1
//! cargo test --release -p remanent --test campaigns -- damage --count 20000 --seed 1
//! cargo test --release -p remanent --test campaigns -- configurations --count 2000 --seed 1
//! ```
//!
//! Each prints a table and ends with exit code 1 if anything happened that must not. `--keep` writes the table
//! into RESULTS.md beside this file; `--jobs N` works on N cases at a time (default 2). The same seed
//! makes the same cases; at which moment of a run a kill strikes depends on the machine as well.
//! Without arguments, as `cargo test` starts it, a small version of each runs.
//!
//! `examples DIR` writes a valid file for every loader, from which cargo-fuzz begins (see fuzz/README.md).

mod configurations;
mod damage;
mod kills;
mod loaders;
mod mutation;
mod program;
mod random;
mod results;

use std::alloc::System;
use std::path::Path;
use std::process::ExitCode;

use cap::Cap;

use crate::results::Results;

/// Counts what is allocated, and refuses what is beyond the bound of the damage campaign.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const CAMPAIGNS: [(&str, u32); 3] = [("kills", 20), ("damage", 960), ("configurations", 66)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("worker") => {
            damage::work(&arguments[1..]);
            ExitCode::SUCCESS
        }
        Some("examples") if arguments.len() == 2 => {
            damage::write_examples(Path::new(&arguments[1])).expect("can be written");
            ExitCode::SUCCESS
        }
        Some(name) if CAMPAIGNS.iter().any(|campaign| campaign.0 == name) => {
            match Options::read(&arguments[1..]) {
                Ok(options) => large(name, &options),
                Err(error) => {
                    eprintln!("error: {error}");
                    ExitCode::from(2)
                }
            }
        }
        _ => small(&arguments),
    }
}

struct Options {
    count: u32,
    seed: u64,
    jobs: usize,
    keep: bool,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { count: 100, seed: 1, jobs: 2, keep: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().and_then(|value| value.parse::<u32>().ok());
                value.ok_or_else(|| format!("{word} needs a number"))
            };
            match word.as_str() {
                "--count" => options.count = number()?,
                "--seed" => options.seed = number()?.into(),
                "--jobs" => options.jobs = number()?.max(1) as usize,
                "--keep" => options.keep = true,
                _ => {
                    return Err(format!(
                        "{word} is unknown; --count, --seed, --jobs and --keep are known"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn run(name: &str, count: u32, seed: u64, jobs: usize) -> Results {
    match name {
        "kills" => kills::campaign(count as usize, seed, jobs),
        "damage" => damage::campaign(count, seed, jobs),
        _ => configurations::campaign(count, seed, jobs),
    }
}

fn large(name: &str, options: &Options) -> ExitCode {
    let results = run(name, options.count, options.seed, options.jobs);
    results.print();
    if options.keep {
        results.keep().expect("RESULTS.md can be written");
    }
    if results.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What `cargo test` runs. Its words choose among the campaigns as they choose among other tests.
fn small(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|word| word == "--list") {
        CAMPAIGNS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let mut code = ExitCode::SUCCESS;
    for (name, count) in CAMPAIGNS {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            let results = run(name, count, 1, 2);
            results.print();
            if !results.violations.is_empty() {
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
