//! What parts of a run would cost, as `--dry-run` prints it.

use remanent_plot::{Cell, Table};
use remanent_reproduce::Cost;
use remanent_store::amounts;
use serde_json::{Value, json};

use crate::output::{self, Format};

/// Prints a row for each part, and one for all. A part has a name, a remark and a cost; `head` is what the columns of
/// name and remark are called.
pub fn print<'a>(
    format: Format,
    head: [&str; 2],
    parts: impl Iterator<Item = ((&'a str, &'a str), &'a Cost)>,
) -> anyhow::Result<()> {
    let threads = rayon::current_num_threads();
    let text = if format == Format::Json {
        let rows = parts.map(|((name, _), cost)| to_json(cost, head[0], name, threads));
        format!("{}\n", serde_json::to_string_pretty(&rows.collect::<Vec<_>>())?)
    } else {
        let [name, remark] = head;
        let mut table = Table::new([name, "cells", "to_compute", "time", "memory", remark]);
        let mut total = Cost::default();
        for ((name, remark), cost) in parts {
            table.push(row(cost, name, threads, remark));
            total.add(cost);
        }
        table.push(row(&total, "all", threads, ""));
        if format == Format::Csv { table.to_csv() } else { table.to_text(4) }
    };
    output::print(&text)
}

fn row(cost: &Cost, name: &str, threads: usize, remark: &str) -> Vec<Cell> {
    let (seconds, bytes) = cost.on(threads);
    let (time, memory) = if cost.missing == 0 {
        ("nothing".into(), String::new())
    } else {
        (amounts::duration(seconds), amounts::memory(bytes))
    };
    vec![
        name.into(),
        (cost.cells as i64).into(),
        (cost.missing as i64).into(),
        time.as_str().into(),
        memory.as_str().into(),
        remark.into(),
    ]
}

fn to_json(cost: &Cost, key: &str, name: &str, threads: usize) -> Value {
    let (seconds, memory) = cost.on(threads);
    json!({
        key: name,
        "cells": cost.cells,
        "to_compute": cost.missing,
        "seconds": seconds,
        "memory": memory,
    })
}
