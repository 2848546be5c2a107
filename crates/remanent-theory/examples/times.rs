//! Times what a user waits for, in processor time of one thread: `bench/theory` makes its table with it.
//!
//! ```text
//! times cold BETA ALPHA [SECONDS]    one point of one task, without anything known before
//! times branches BETA [SECONDS]      all landmarks and rows of `theory branches`, alpha from 0.05 to 3
//! times chain TASKS BETA [SECONDS]   a chain with alpha = 2, r_0 = 0.5 and gamma = 1
//! ```
//!
//! Prints one JSON line: the best time, and what was found.

use std::env;
use std::time::Duration;

use cpu_time::ThreadTime;
use remanent_theory::branches::branches;
use remanent_theory::chain::ChainParameters;
use remanent_theory::parameters::Choice;
use remanent_theory::single::SingleTask;
use serde_json::{Value, json};

/// Repeats `work` for about `seconds`, at least once; the shortest time and the last answer.
fn best<T>(seconds: f64, mut work: impl FnMut() -> T) -> (Duration, T) {
    let begun = ThreadTime::now();
    let mut shortest = Duration::MAX;
    loop {
        let start = ThreadTime::now();
        let answer = work();
        shortest = shortest.min(start.elapsed());
        if begun.elapsed().as_secs_f64() >= seconds {
            return (shortest, answer);
        }
    }
}

fn cold(beta: f64, alpha: f64, seconds: f64) -> Value {
    let task = SingleTask::new(beta).expect("a β from 0.01 to 1000");
    let (time, solution) =
        best(seconds, || task.solve(alpha, Choice::Stable).expect("an α from 0.0001 to 1000"));
    json!({
        "milliseconds": time.as_secs_f64() * 1e3,
        "eps": solution.eps,
        "q_0": solution.q_0,
        "minus_beta_f": solution.minus_beta_f,
        "branch": solution.branch,
        "error": solution.quadrature_error,
        "termination": solution.termination,
    })
}

fn all_branches(beta: f64, seconds: f64) -> Value {
    let task = SingleTask::new(beta).expect("a β from 0.01 to 1000");
    let (time, found) = best(seconds, || branches(&task, 0.05, 3.0).expect("valid α"));
    json!({
        "milliseconds": time.as_secs_f64() * 1e3,
        "rows": found.rows.len(),
        "inaccurate": found.rows.iter().filter(|r| !r.is_converged()).count(),
        "folds": found.folds.iter().map(|f| f.alpha).collect::<Vec<_>>(),
        "crossing": found.crossing.map(|c| c.alpha),
        "corner": found.corner.map(|c| c.alpha),
        "replicon_zeros": found.replicon_zeros.iter().map(|z| z.alpha).collect::<Vec<_>>(),
    })
}

fn chain(tasks: usize, beta: f64, seconds: f64) -> Value {
    let parameters = ChainParameters {
        alpha: vec![2.0; tasks],
        beta: vec![beta],
        r_0: vec![0.5],
        gamma: vec![1.0],
        ..Default::default()
    };
    let chain = parameters.check().expect("valid parameters");
    let (time, found) = best(seconds, || chain.solve());
    json!({
        "milliseconds": time.as_secs_f64() * 1e3,
        "solved": found.tasks.len(),
        "converged": found.is_converged(),
        "first": found.final_errors().first(),
        "last": found.final_errors().last(),
    })
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |i: usize| -> f64 {
        let text = arguments.get(i).expect("see the first lines of this file for the arguments");
        text.parse().expect("a number")
    };
    let seconds = |i: usize| if arguments.len() > i { number(i) } else { 0.0 };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let answer = one_thread.install(|| match arguments.first().map(String::as_str) {
        Some("cold") => cold(number(1), number(2), seconds(3)),
        Some("branches") => all_branches(number(1), seconds(2)),
        Some("chain") => chain(number(1) as usize, number(2), seconds(3)),
        _ => panic!("expected cold, branches or chain"),
    });
    println!("{answer}");
}
