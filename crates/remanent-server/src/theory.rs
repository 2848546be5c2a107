//! Questions to the theory. They are read, checked and answered as those of the command line are, and bounded
//! besides: a page asks often, and several pages may ask at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::Body;
use axum::extract::{Path, Query as Parameters, State};
use axum::http::{Response, StatusCode};
use remanent_lab::experiment::{Detail, ErrorKind, NoView, Prepared, Report, Resources};
use remanent_lab::lists::{Values, ValuesError};
use remanent_lab::options::{OptionInfo, Words};
use remanent_lab::plan::Plan;
use remanent_lab::theory::{Query, Question};
use remanent_plot::Table as Rows;
use remanent_store::Silent;
use serde_json::{Value, json};
use toml::{Table, Value as Setting};

use crate::compute::Effort;
use crate::error::{ApiError, json_answer, typed};
use crate::server::Explorer;

type Pairs = Vec<(String, String)>;

/// What the page should know before it asks: the program, the questions and their options.
pub async fn about(State(explorer): State<Arc<Explorer>>) -> Result<Response<Body>, ApiError> {
    let option = |info: &OptionInfo| json!({"key": info.key, "help": info.help, "default": info.default, "range": info.shown_range()});
    let question = |question: &Question| {
        let options: Vec<Value> = question.options().iter().map(option).collect();
        json!({"question": question.word(), "options": options})
    };
    let asked: Vec<Value> =
        Question::VALUES.iter().filter(|q| is_asked(**q)).map(question).collect();
    json_answer(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "read_only": explorer.read_only,
        "running": explorer.workshop.running(),
        "questions": asked,
    }))
}

/// The questions of the command line.
fn is_asked(question: Question) -> bool {
    question != Question::MonteCarlo
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    /// With the notes that the command line prints on standard error.
    Full,
    Csv,
    Svg,
}

impl Form {
    fn read(text: &str) -> Result<Self, ApiError> {
        match text {
            "json" => Ok(Self::Json),
            "full" => Ok(Self::Full),
            "csv" => Ok(Self::Csv),
            "svg" => Ok(Self::Svg),
            _ => Err(ApiError::malformed("format must be one of json, full, csv, svg")),
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Full => "application/json",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// `GET /api/theory/QUESTION?alpha=2,2&…`: keys and values are those of the command line. `format` is the form
/// of the answer. `detail=outline` asks for a sketch of `branches` or `chain`.
pub async fn answer(
    State(explorer): State<Arc<Explorer>>,
    Path(question): Path<String>,
    Parameters(pairs): Parameters<Pairs>,
) -> Result<Response<Body>, ApiError> {
    if explorer.read_only {
        let text = "this server shows files only (--read-only)";
        return Err(ApiError::new(StatusCode::FORBIDDEN, text));
    }
    let known = Question::VALUES.iter().copied().filter(|q| is_asked(*q));
    let question = known
        .into_iter()
        .find(|known| known.word() == question)
        .ok_or_else(|| ApiError::not_found("such question"))?;
    let Request { table, form, is_outline } = read(question, pairs)?;
    if is_outline {
        return sketch(&explorer, &table, form).await;
    }
    let prepared = Prepared::<Query>::of_plan(Plan::of_one_case(table), &Resources::default());
    let prepared = prepared.map_err(|error| match error.kind() {
        ErrorKind::Usage => ApiError::out_of_bounds(error.to_string()),
        _ => ApiError::internal(error.to_string()),
    })?;
    let query = prepared.cases[0].key();
    let effort = bounded(&query)?;
    let name = format!("{form:?} {query}");
    if let Some(kept) = explorer.workshop.recall(&name) {
        return Ok(typed(form.content_type(), kept.to_vec()));
    }
    let solve = move |interrupt: &AtomicBool| {
        let report = prepared.run_unsaved(&Silent, interrupt, &NoView {});
        report.map(|report| written(&report, form)).map_err(|error| error.to_string())
    };
    let body = explorer.workshop.compute(effort, solve).await?.map_err(ApiError::internal)?;
    explorer.workshop.keep(name, body.clone().into());
    Ok(typed(form.content_type(), body))
}

/// What a request says.
struct Request {
    table: Table,
    form: Form,
    is_outline: bool,
}

fn read(question: Question, pairs: Pairs) -> Result<Request, ApiError> {
    let options = question.options();
    let (mut table, mut form, mut is_outline) = (Table::new(), Form::Json, false);
    let mut scans = Vec::new();
    for (key, text) in pairs {
        match key.as_str() {
            "format" => form = Form::read(&text)?,
            "detail" if text == "outline" => is_outline = true,
            "detail" => return Err(ApiError::malformed("detail must be outline, or left out")),
            "scan" if question == Question::Chain => {
                let (key, values) = text.split_once('=').ok_or_else(|| {
                    ApiError::malformed("scan must be KEY=VALUES, e.g. gamma=0:2:0.1")
                })?;
                scans.push(Setting::Array(vec![key.into(), values.into()]));
            }
            key => {
                let info = options.iter().find(|info| info.key == key).ok_or_else(|| {
                    let known: Vec<&str> = options.iter().map(|info| info.key).collect();
                    ApiError::malformed(format!(
                        "unknown parameter; {} takes {}",
                        question.word(),
                        known.join(", ")
                    ))
                })?;
                let value = info.kind.parse(&text).map_err(|expected| {
                    let message = format!("{key} cannot be used: {expected}");
                    match text.parse::<Values>() {
                        Err(ValuesError::TooMany { .. }) => ApiError::out_of_bounds(message),
                        _ => ApiError::malformed(message),
                    }
                })?;
                if table.insert(key.to_owned(), value).is_some() {
                    return Err(ApiError::malformed(format!("{key} is given twice")));
                }
            }
        }
    }
    if scans.len() > 2 {
        return Err(ApiError::out_of_bounds("scan is given more than twice; a map has two axes"));
    }
    if !scans.is_empty() {
        table.insert("scan".into(), Setting::Array(scans));
    }
    table.insert("ask".into(), question.word().into());
    Ok(Request { table, form, is_outline })
}

fn written(report: &impl Report, form: Form) -> Vec<u8> {
    match form {
        Form::Json => report.json().to_string().into_bytes(),
        Form::Full => {
            let notes: Vec<String> = report.notes().into_iter().map(|note| note.text).collect();
            let all = json!({
                "answer": report.json(),
                "notes": notes,
                "is_complete": report.is_complete(),
            });
            all.to_string().into_bytes()
        }
        Form::Csv => {
            let tables = report.tables(Detail::Full);
            tables.iter().map(Rows::to_csv).collect::<Vec<_>>().join("\n").into_bytes()
        }
        Form::Svg => report.figure().to_svg().into_bytes(),
    }
}

/// A sketch: the same JSON as that of the answer, in a fraction of the time.
async fn sketch(
    explorer: &Explorer,
    table: &Table,
    form: Form,
) -> Result<Response<Body>, ApiError> {
    let out_of_bounds = |error: &dyn ToString| ApiError::out_of_bounds(error.to_string());
    // Everything is checked as for the whole answer.
    let query = Query::from_table(table).map_err(|error| out_of_bounds(&error))?;
    if !query.can_be_sketched() || form != Form::Json {
        let text = "detail=outline is for branches and chain, with rsb 0, in JSON";
        return Err(ApiError::malformed(text));
    }
    bounded(&query.key())?;
    let name = format!("outline {}", query.key());
    if let Some(kept) = explorer.workshop.recall(&name) {
        return Ok(typed(form.content_type(), kept.to_vec()));
    }
    let solve = move |_: &AtomicBool| query.sketch();
    let found = explorer.workshop.compute(Effort::Short, solve).await?;
    let body = json!(found.map_err(|error| out_of_bounds(&error))?).to_string().into_bytes();
    explorer.workshop.keep(name, body.clone().into());
    Ok(typed(form.content_type(), body))
}

/// The largest questions, without and with broken replica symmetry.
struct Bound {
    /// What is counted.
    what: &'static str,
    symmetric: usize,
    broken: usize,
}

/// Refuses a question that takes too long, and says how long one takes that is not.
fn bounded(query: &Value) -> Result<Effort, ApiError> {
    let count = |key: &str| query[key].as_array().map_or(1, Vec::len);
    let scanned = |axis: &Value| axis[1].as_array().map_or(1, Vec::len);
    let scans: usize = query["scan"].as_array().into_iter().flatten().map(scanned).product();
    let ask = query["ask"].as_str().unwrap_or_default();
    let is_broken = query.get("rsb").is_some_and(|rsb| *rsb != json!("0") && *rsb != json!(0));
    let bound = |what, symmetric, broken| Bound { what, symmetric, broken };
    let (size, bound) = match ask {
        "single" => (count("alpha") * count("beta"), bound("points", 400, 30)),
        "constrained" => (count("beta") * count("q_star"), bound("points", 200, 10)),
        "chain" => (scans * count("alpha"), bound("tasks in all", 400, 6)),
        "tune" => (count("gamma") * count("alpha"), bound("tasks in all", 300, 300)),
        "phase-diagram" => (count("beta"), bound("values of beta", 60, 6)),
        "complexity" => (query["rows"].as_u64().unwrap_or(40) as usize, bound("rows", 100, 100)),
        _ => (1, bound("curves", 1, 1)),
    };
    let most = if is_broken { bound.broken } else { bound.symmetric };
    if size > most {
        return Err(ApiError::out_of_bounds(format!(
            "the question has {size} {}, and this server answers at most {most}; use the command line",
            bound.what
        )));
    }
    let is_short = !is_broken && matches!(ask, "single" | "chain" | "constrained") && size <= 20;
    Ok(if is_short { Effort::Short } else { Effort::Long })
}
