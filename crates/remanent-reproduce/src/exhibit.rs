//! What the report says of a figure: its records summarised, measured, judged and drawn.

use remanent_plot::{Axis, Figure, Panel, Table};
use serde_json::Value;

use crate::catalogue::Entry;
use crate::parts::Records;
use crate::report::{Exhibit, Size};
use crate::results::{Drawing, Judgement, Results};
use crate::verdict::{Answer, Claim, Findings};
use crate::work::Work;

/// Puts together what the report says of a figure. A figure that cannot be measured or drawn from
/// its records says so, and does not keep the others from being shown.
pub fn exhibit(work: &Work, records: Records) -> Exhibit {
    let (seconds, cells) = (records.seconds, records.cells);
    let (measured, judgement, drawing) = shown(work, records)
        .unwrap_or_else(|reason| (Value::Null, nothing(work, &reason), blank()));
    let label = if work.size.is_reduced() { ", reduced size" } else { "" };
    let figure = drawing.figure.title(format!("{}: {}{label}", work.entry.id, work.entry.title));
    Exhibit {
        id: work.entry.id.into(),
        title: work.entry.title.into(),
        size: work.size.clone(),
        found: judgement.found,
        findings: judgement.findings,
        notes: judgement.notes,
        measurements: measured,
        svg: figure.to_svg(),
        csv: drawing.table.to_csv(),
        config: work.entry.config.into(),
        command: work.command(),
        seconds: Some(seconds),
        cells,
    }
}

fn shown(work: &Work, records: Records) -> Result<(Value, Judgement, Drawing), String> {
    const REASON: &str =
        "a record is missing that it needs: a trial was lost, or the theory has no solution";
    let results = Results::new(work, records)?;
    let measured = (work.entry.measure)(&results).ok_or(REASON)?;
    let mut judgement = judge(work.entry, &measured, &work.size)?;
    judgement.notes.extend(results.remarks());
    Ok((measured, judgement, (work.entry.draw)(&results).ok_or(REASON)?))
}

/// What measurements of a figure decide, at full size or below.
pub fn judge(entry: &Entry, measured: &Value, size: &Size) -> Result<Judgement, String> {
    let judgement = (entry.judge)(measured)?;
    Ok(if size.is_reduced() {
        let findings = judgement.findings.at_reduced_size(size.fewer_points);
        Judgement { findings, ..judgement }
    } else {
        judgement
    })
}

/// What is said of a figure that cannot be made: its claim is open.
fn nothing(work: &Work, reason: &str) -> Judgement {
    let found = format!("This figure cannot be made: {reason}.");
    let findings = if work.entry.is_beyond() {
        Findings::Answers(vec![Answer::new(work.entry.title, found.clone())])
    } else {
        Findings::Claims(vec![Claim::new(work.entry.title, "not measured", Vec::new())])
    };
    Judgement { found, findings, notes: Vec::new() }
}

fn blank() -> Drawing {
    let panel = Panel::new("", Axis::linear(""), Axis::linear(""));
    Drawing { figure: Figure::single(panel), table: Table::new(["nothing"]) }
}
