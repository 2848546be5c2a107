//! Random problems of the theory over the whole domain, with edge values drawn often.
//!
//! `cargo run --release -p remanent-theory --example campaign -- --count 10000 --seed 1`
//!
//! Options: `--count N` problems (1000), `--seed S` (1), `--doubled K` solves every K-th block of
//! four problems with twice the nodes too (4; 0 for none), `--only N,M` these problems alone,
//! `--streams N` stationary streams besides (0), `--log FILE` keeps what was found line by line, so that a campaign
//! that was stopped goes on where it was (a line that is deleted is computed again),
//! `--date D --table FILE` write the result as a table. Ends with 1 if anything is wrong.

#[path = "../tests/campaign/mod.rs"]
mod random;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use random::{Finding, Kind};

fn option<T: std::str::FromStr>(name: &str, default: T) -> T {
    let mut arguments = std::env::args().skip_while(|a| a != name).skip(1);
    arguments.next().map_or(default, |text| match text.parse() {
        Ok(value) => value,
        Err(_) => panic!("{name} {text} cannot be read"),
    })
}

fn main() -> ExitCode {
    let (seed, count): (u64, u32) = (option("--seed", 1), option("--count", 1000));
    let doubled: u32 = option("--doubled", 4);
    let only: String = option("--only", String::new());
    let date: String = option("--date", String::from("undated"));
    let (file, log): (String, String) =
        (option("--table", String::new()), option("--log", String::new()));
    let streams: u32 = option("--streams", 0);
    let numbers: Vec<u32> = if only.is_empty() {
        (0..count).collect()
    } else {
        only.split(',').map(|n| n.parse().expect("--only takes numbers")).collect()
    };
    let mut findings = kept(&log);
    findings.retain(|f| numbers.contains(&f.number));
    let open: Vec<u32> =
        numbers.into_iter().filter(|n| findings.iter().all(|f| f.number != *n)).collect();
    findings.extend(random::campaign(seed, &open, doubled, 10, &|finding| report(finding, &log)));
    findings.extend((0..streams).map(|number| {
        let finding = random::examine_stream(seed, number);
        report(&finding, "");
        finding
    }));
    if !only.is_empty() {
        println!("{findings:#?}");
    }
    let table = table(&findings, seed, doubled, &date);
    println!("\n{table}");
    if !file.is_empty()
        && let Err(error) = std::fs::write(&file, &table)
    {
        eprintln!("{file}: {error}");
        return ExitCode::FAILURE;
    }
    let fails = |f: &Finding| !f.violations.is_empty() || f.is_slow();
    ExitCode::from(u8::from(findings.iter().any(fails)))
}

/// What an earlier run has written to its log.
fn kept(log: &str) -> Vec<Finding> {
    let text = if log.is_empty() {
        String::new()
    } else {
        std::fs::read_to_string(log).unwrap_or_default()
    };
    // The last line may be cut.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Says what is wrong with a finding, and adds it to the log.
fn report(finding: &Finding, log: &str) {
    let slow = finding.is_slow().then(|| format!("took {:.2} s", finding.seconds));
    for violation in finding.violations.iter().chain(&slow) {
        println!("{} {}: {violation}: {}", finding.number, finding.kind.name(), finding.options);
    }
    if !log.is_empty() {
        let line = serde_json::to_string(finding).expect("a finding is data") + "\n";
        let file = std::fs::OpenOptions::new().create(true).append(true).open(log);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the log can be written");
    }
}

/// The counts as a page.
fn table(findings: &[Finding], seed: u64, doubled: u32, date: &str) -> String {
    let mut text = String::from("# Random problems of the theory\n\n");
    let sum = |of: fn(&Finding) -> f64| findings.iter().map(of).sum::<f64>();
    let count = findings.len();
    let _ = writeln!(
        text,
        "{date}, version {}, seed {seed}, {count} problems, {:.0} s of processor time and {:.0} s for solutions with twice \
         the nodes. Made by `cargo run --release -p remanent-theory --example campaign -- --count {count} --seed {seed} \
         --doubled {doubled}`.\n",
        env!("CARGO_PKG_VERSION"),
        sum(|f| f.seconds),
        sum(|f| f.doubled_seconds),
    );
    text += "| kind | problems | rows converged | inaccurate | no solution | left domain | max iterations | \
             violations | largest estimate | doubled | largest change | slowest (s) | above 1 s |\n";
    text += "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    let kinds = Kind::ALL.iter().map(|k| (k.name(), Some(*k))).chain([("all", None)]);
    for (name, kind) in kinds {
        let of: Vec<&Finding> =
            findings.iter().filter(|f| kind.is_none_or(|k| f.kind == k)).collect();
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        for f in &of {
            for (end, n) in &f.terminations {
                *ends.entry(end).or_default() += n;
            }
        }
        let count = |end: &str| ends.get(end).copied().unwrap_or(0);
        let largest = |value: fn(&Finding) -> f64| of.iter().map(|f| value(f)).fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {:.1e} | {} | {:.1e} | {:.2} | {} |",
            of.len(),
            count("converged"),
            count("inaccurate"),
            count("no_solution"),
            count("left_domain"),
            count("max_iterations"),
            of.iter().map(|f| f.violations.len()).sum::<usize>(),
            largest(|f| f.estimate),
            of.iter().filter(|f| f.change.is_some()).count(),
            largest(|f| f.change.unwrap_or(0.0)),
            largest(|f| f.seconds),
            of.iter().filter(|f| f.is_slow()).count(),
        );
    }
    let mut slow: Vec<f64> = findings.iter().map(|f| f.seconds).collect();
    slow.sort_by(f64::total_cmp);
    let at = |q: f64| slow.get(((slow.len() as f64 - 1.0) * q) as usize).copied().unwrap_or(0.0);
    let _ = writeln!(
        text,
        "\nRows are those of all tasks and all solutions. Processor time of a problem: median {:.3} s, 99 % below \
         {:.2} s. A converged row has an estimate of at most 1e-8, and with twice the nodes in every direction it \
         moves by at most 1e-8 and the estimate of the finer row, or three times its own if that is smaller.",
        at(0.5),
        at(0.99)
    );
    let wrong: Vec<&Finding> = findings.iter().filter(|f| !f.violations.is_empty()).collect();
    if !wrong.is_empty() {
        text += "\nViolations:\n\n";
        for f in wrong.iter().take(40) {
            let _ = writeln!(
                text,
                "- {} ({}): {}: `{}`",
                f.number,
                f.kind.name(),
                f.violations.join("; "),
                f.options
            );
        }
    }
    text
}
