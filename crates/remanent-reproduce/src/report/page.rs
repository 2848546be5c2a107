//! The HTML page of a report. Its style is in `page.css`.
//!
//! All texts are escaped except the drawings, which are SVG. Every figure of `remanent-plot` calls
//! its first clipping region `clip0`, and in one document a browser would clip all drawings by the
//! first; so the ids in a drawing get the name of the exhibit as a prefix.

use std::collections::HashSet;

use super::{Exhibit, Report, ReportError};
use crate::verdict::{Findings, Test, Verdict};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use remanent_store::amounts;

const STYLE: &str = include_str!("page.css");

/// What the page says about the paper, before the version and the command.
const LEAD: &str = r#"This page compares, figure by figure, what C. Li, Z. Huang, W. Zou and H. Huang claim in <em>Statistical mechanics of
continual learning: variational principle and mean-field potential</em>
(<a href="https://arxiv.org/abs/2212.02846">arXiv:2212.02846</a>, Phys. Rev. E 108, 014309) with what Remanent"#;

const REDUCED: &str = r#"<p class="banner"><strong>Reduced size.</strong> This is the quick report: simulations are smaller and have fewer trials than the
paper’s, and the panels of deep networks are on 8 × 8 digits instead of MNIST. Each figure says its size.</p>
"#;

/// How verdicts are made, after the version of the rules.
const RULES: &str = r#"of them was used here. Each figure has one or more claims: what the paper
says, and where. A claim has tests: a quantity, its estimate with the standard error over trials, and a threshold with its reason. A test
is <em>supported</em> (✓) or <em>contradicted</em> (✗) if the estimate lies beyond its threshold by more than two standard errors (more
for fewer than 20 trials, by Student’s distribution), and <em>undecided</em> (?) otherwise. A claim is contradicted if one of its tests
is, else undecided if one of its tests is, else supported. A figure is <em>reproduced</em> if all claims are supported, <em>reproduced
in part</em> if some are contradicted and some supported, <em>not reproduced</em> if some are contradicted and none supported, and
<em>undecided</em> otherwise. A simulation below the full size contradicts nothing. Remarks (indented) do not count. Figures beyond the
paper ask questions: they have answers, and no verdict."#;

/// A drawing that is wider, in its own units, is not shrunk to the width of a telephone.
const WIDE: f64 = 600.0;

pub(super) fn render(report: &Report) -> Result<String, ReportError> {
    let mut seen = HashSet::new();
    if let Some(twice) = report.exhibits.iter().find(|e| !seen.insert(anchor(&e.id))) {
        return Err(ReportError::SameId { id: twice.id.clone() });
    }
    let groups = [(false, "The paper’s figures"), (true, "Beyond the paper")]
        .map(|(beyond, title)| {
            let of = report.exhibits.iter().filter(|e| e.is_beyond() == beyond);
            (title, of.collect::<Vec<_>>())
        })
        .into_iter()
        .filter(|(_, exhibits)| !exhibits.is_empty())
        .collect::<Vec<_>>();
    let mut sections = String::new();
    for (title, exhibits) in &groups {
        sections += &format!("<h2 class=\"part\">{title}</h2>\n");
        sections.extend(exhibits.iter().map(|exhibit| section(exhibit)));
    }
    Ok(format!(
        r#"{head}<body>
<header class="front" id="top">
{front}
{verdicts}</header>
<main>
{sections}</main>
</body>
</html>"#,
        head = head(report),
        front = front(report),
        verdicts = verdicts(report, &groups),
    ))
}

fn head(report: &Report) -> String {
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="Remanent {version}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{STYLE}
</style>
</head>
"#,
        version = escape(&report.version),
        title = escape(&report.title),
    )
}

/// What was done, when, where and for how long.
fn front(report: &Report) -> String {
    let machine = &report.machine;
    let memory = machine.memory_gib.map_or_else(String::new, |memory| {
        format!("<div><dt>Memory</dt><dd>{memory:.1} GiB</dd></div>\n")
    });
    format!(
        r#"<h1>{title}</h1>
<p class="lead">{LEAD} {version}
computes, and asks a few questions beyond the paper. All of it was made by <code class="command">{command}</code>.</p>
{reduced}<dl class="facts">
<div><dt>Date</dt><dd>{date}</dd></div>
<div><dt>Wall time</dt><dd>{time}</dd></div>
<div><dt>Threads</dt><dd>{threads}</dd></div>
<div><dt>Processor</dt><dd>{processor} ({instructions})</dd></div>
{memory}<div><dt>System</dt><dd>{system}</dd></div>
</dl>
"#,
        title = escape(&report.title),
        version = escape(&report.version),
        command = escape(&report.command),
        reduced = if report.quick { REDUCED } else { "" },
        date = escape(&report.date),
        time = amounts::duration(report.wall_seconds),
        threads = machine.threads,
        processor = escape(&machine.processor),
        instructions = escape(&machine.instructions),
        system = escape(&machine.system),
    )
}

/// The number of each verdict, the rules, and a table of all figures.
fn verdicts(report: &Report, groups: &[(&str, Vec<&Exhibit>)]) -> String {
    let paper = || report.exhibits.iter().filter(|exhibit| !exhibit.is_beyond());
    let counts = Verdict::ALL.map(|verdict| {
        let count = paper().filter(|exhibit| exhibit.verdict() == Some(verdict)).count();
        format!("<tr><th scope=\"row\">{}</th><td>{count}</td></tr>\n", badge(verdict))
    });
    let mut rows = String::new();
    for (title, exhibits) in groups {
        rows += &format!(
            "<tbody>\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"5\">{title}</th></tr>\n"
        );
        rows.extend(exhibits.iter().map(|exhibit| row(exhibit)));
        rows += "</tbody>\n";
    }
    format!(
        r#"<h2 id="verdicts">Verdicts at a glance</h2>
<div class="scroll" role="region" aria-label="Number of verdicts" tabindex="0">
<table class="counts">
<thead><tr><th scope="col">verdict</th><th scope="col">figures of the paper</th></tr></thead>
<tbody>
{counts}</tbody>
</table>
</div>
<p class="rule">Rules decide every verdict; version {version} {RULES}</p>
<p class="small">Times are computing times: of all cells of a figure together, each on one thread.</p>
<div class="scroll" role="region" aria-label="Verdicts" tabindex="0">
<table class="glance">
<thead><tr><th scope="col">figure</th><th scope="col">title</th><th scope="col">verdict</th><th scope="col" class="size">size</th><th scope="col" class="time">time</th></tr></thead>
{rows}</table>
</div>
"#,
        counts = counts.concat(),
        version = crate::verdict::RULES,
    )
}

/// The line of a figure in the table of all figures.
fn row(exhibit: &Exhibit) -> String {
    format!(
        "<tr><th scope=\"row\"><a href=\"#{anchor}\">{id}</a></th><td>{title}</td><td>{verdict}</td>\
         <td class=\"size\">{extent}</td><td class=\"time\">{time}</td></tr>\n",
        anchor = anchor(&exhibit.id),
        id = escape(&exhibit.id),
        title = formula(&exhibit.title),
        verdict = exhibit.verdict().map_or_else(|| "answers".to_owned(), badge),
        extent = escape(&exhibit.size.text),
        time = exhibit.seconds.map_or_else(|| "–".to_owned(), amounts::duration),
    )
}

/// A figure with all that belongs to it.
fn section(exhibit: &Exhibit) -> String {
    let (anchor, id) = (anchor(&exhibit.id), escape(&exhibit.id));
    let reduced = " <span class=\"label\">reduced size</span>";
    format!(
        r##"<section class="exhibit" id="{anchor}" data-verdict="{verdict}">
<h3><span class="number">{id}</span> {title}</h3>
<p class="labels">{badge}{reduced} <span class="extent">{size}</span></p>
<figure class="{width}"><div class="drawing" role="img" aria-label="{id}: {label}">
{svg}
</div></figure>
<p><strong>Found:</strong> {found}</p>
{findings}{notes}{data}{configuration}{made}<p class="back"><a href="#verdicts">all verdicts</a></p>
</section>
"##,
        verdict = exhibit.verdict().map_or("answers", Verdict::name),
        title = formula(&exhibit.title),
        badge = exhibit.verdict().map_or_else(String::new, badge),
        reduced = if exhibit.size.is_reduced() { reduced } else { "" },
        size = escape(&exhibit.size.sentence()),
        width = if width(&exhibit.svg) > WIDE { "wide" } else { "narrow" },
        label = escape(&exhibit.title),
        svg = renamed(&exhibit.svg, &anchor),
        found = formula(&exhibit.found),
        findings = findings(&exhibit.findings),
        notes = notes(&exhibit.notes),
        data = data(exhibit, &anchor),
        configuration = configuration(&exhibit.config),
        made = made(exhibit),
    )
}

fn badge(verdict: Verdict) -> String {
    format!(
        "<span class=\"badge {}\"><span class=\"symbol\" aria-hidden=\"true\">{}</span> <span>{verdict}</span></span>",
        verdict.name(),
        verdict.symbol(),
    )
}

/// The claims of the paper with their tests, or questions with their answers.
fn findings(findings: &Findings) -> String {
    match findings {
        Findings::Claims(claims) => claims
            .iter()
            .map(|claim| {
                let (name, symbol) = (claim.outcome.name(), claim.outcome.symbol());
                format!(
                    r#"<div class="finding {name}">
<p class="claim"><strong>The paper</strong> ({place}): {says} <span class="outcome {name}"><span aria-hidden="true">{symbol}</span> {name}</span></p>
{tests}
{remarks}
</div>
"#,
                    place = formula(&claim.place),
                    says = formula(&claim.says),
                    tests = tests(&claim.tests, "tests"),
                    remarks = tests(&claim.remarks, "tests remarks"),
                )
            })
            .collect(),
        Findings::Answers(answers) => answers
            .iter()
            .map(|answer| {
                format!(
                    r#"<div class="finding">
<p class="claim"><strong>Question:</strong> {question}</p>
<p><strong>Answer:</strong> {answer}</p>
{tests}
</div>
"#,
                    question = formula(&answer.question),
                    answer = formula(&answer.answer),
                    tests = tests(&answer.tests, "tests"),
                )
            })
            .collect(),
    }
}

/// A list of tests. Where several in a row have the same reason, the last one gives it.
fn tests(tests: &[Test], class: &str) -> String {
    if tests.is_empty() {
        return String::new();
    }
    let item = |(index, test): (usize, &Test)| {
        let repeated = tests.get(index + 1).is_some_and(|next| next.reason == test.reason);
        let reason = if repeated || test.reason.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"reason\">{}</span>", formula(&test.reason))
        };
        format!(
            "<li class=\"{name}\"><span class=\"mark\" title=\"{name}\">{symbol}</span> <span>{statement} \
             <span class=\"margin\">({margin})</span>{reason}</span></li>\n",
            name = test.outcome.name(),
            symbol = test.outcome.symbol(),
            statement = formula(&test.statement()),
            margin = formula(&test.margin),
        )
    };
    let items: String = tests.iter().enumerate().map(item).collect();
    format!("<ul class=\"{class}\">\n{items}</ul>\n")
}

fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", formula(note))).collect();
    format!("<ul class=\"notes\">\n{items}</ul>\n")
}

/// A link that contains the data of the drawing.
fn data(exhibit: &Exhibit, anchor: &str) -> String {
    if exhibit.csv.is_empty() {
        return String::new();
    }
    let rows = exhibit.csv.lines().count().saturating_sub(1);
    format!(
        "<details><summary>Data</summary>\n\
         <p><a href=\"data:text/csv;base64,{}\" download=\"{anchor}.csv\">{anchor}.csv</a>, {rows} row{}</p>\n\
         </details>\n",
        STANDARD.encode(&exhibit.csv),
        if rows == 1 { "" } else { "s" },
    )
}

fn configuration(config: &str) -> String {
    if config.is_empty() {
        return String::new();
    }
    format!(
        "<details><summary>Configuration</summary>\n<pre>{}</pre>\n</details>\n",
        escape(config)
    )
}

/// The command that makes the figure, and its computing time.
fn made(exhibit: &Exhibit) -> String {
    let command = match exhibit.command.as_str() {
        "" => String::new(),
        command => format!("<code class=\"command\">{}</code> ", escape(command)),
    };
    let time = exhibit.seconds.map_or_else(
        || "time not recorded".to_owned(),
        |seconds| format!("{} on one thread", amounts::duration(seconds)),
    );
    let cells = match exhibit.cells {
        0 => String::new(),
        1 => ", 1 cell".to_owned(),
        count => format!(", {count} cells"),
    };
    format!("<p class=\"made\">{command}<span class=\"took\">{time}{cells}</span></p>\n")
}

/// A text without the characters that HTML gives a meaning.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            '/' => out.push_str("&#x2f;"),
            letter => out.push(letter),
        }
    }
    out
}

/// A text in which `α_2` or `q_⋆` becomes a letter with an index; all else is escaped.
fn formula(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while at < letters.len() {
        let index = letters.get(at + 1).filter(|c| c.is_alphanumeric() || **c == '⋆');
        let alone = letters.get(at + 2).is_none_or(|c| !c.is_alphanumeric() && *c != '_');
        match (letters[at], index) {
            ('_', Some(index)) if at > 0 && alone => {
                out.push_str(&format!("<sub>{index}</sub>"));
                at += 1;
            }
            ('<', _) => out.push_str("&lt;"),
            ('>', _) => out.push_str("&gt;"),
            ('&', _) => out.push_str("&amp;"),
            ('"', _) => out.push_str("&quot;"),
            (letter, _) => out.push(letter),
        }
        at += 1;
    }
    out
}

/// The name of an exhibit in the page, for links: `fig-3b`.
pub fn anchor(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("fig-{}", id.chars().map(plain).collect::<String>())
}

/// A drawing with the names of its elements, and what refers to them, made its own.
fn renamed(svg: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(svg.len() + 64);
    let (mut rest, mut drawing) = (svg, 0);
    while let Some((text, tail)) = rest.split_once('<') {
        let (tag, after) = tail.split_once('>').unwrap_or((tail, ""));
        if tag == "svg" || tag.starts_with("svg ") {
            drawing += 1;
        }
        let name = format!("{prefix}-{drawing}-");
        let tag = tag
            .replace(" id=\"", &format!(" id=\"{name}"))
            .replace("url(#", &format!("url(#{name}"))
            .replace("href=\"#", &format!("href=\"#{name}"));
        out.extend([text, "<", &tag]);
        if tail.contains('>') {
            out.push('>');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The width that a drawing says it has, in its own units.
fn width(svg: &str) -> f64 {
    let head = svg.split('>').next().unwrap_or_default();
    let value = head.split_once(" width=\"").and_then(|(_, rest)| rest.split('"').next());
    value.and_then(|value| value.trim_end_matches("px").parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use remanent_plot::{Axis, Curve, Figure, Panel};

    use super::*;
    use serde_json::json;

    use crate::report::{Machine, Size};
    use crate::verdict::{Answer, Claim, Estimate, Threshold};

    fn claims(says: &str, place: &str, quantity: &str) -> Findings {
        let test = Test::above(quantity, Some(Estimate::exact(1.0)), Threshold::ZERO);
        Findings::Claims(vec![Claim::new(says, place, vec![test])])
    }

    fn answers(question: &str, answer: &str) -> Findings {
        Findings::Answers(vec![Answer::new(question, answer)])
    }

    fn figure() -> Exhibit {
        let panel = Panel::new("", Axis::linear("x"), Axis::linear("y"))
            .with(Curve::new(vec![0.0, 1.0], vec![1.0, 2.0]));
        Exhibit {
            id: "3b".into(),
            title: "error".into(),
            size: Size { text: "N = 1000".into(), full: None, fewer_points: false },
            found: "It falls.".into(),
            findings: claims("It falls.", "Fig. 3b", "the fall"),
            notes: vec!["a note".into()],
            measurements: json!({"fall": 1.0}),
            svg: Figure::single(panel).to_svg(),
            csv: "x,y\n0,1\n1,2\n".into(),
            config: "n = 5\n".into(),
            command: "remanent simulate".into(),
            seconds: Some(1.25),
            cells: 1,
        }
    }

    fn report(exhibits: Vec<Exhibit>) -> Report {
        Report {
            title: "A report".into(),
            quick: true,
            version: "0.1.0".into(),
            date: "2026-01-01".into(),
            command: "remanent reproduce --quick".into(),
            wall_seconds: 12.0,
            machine: Machine::detect(2),
            exhibits,
        }
    }

    #[test]
    fn indices_are_written_small() {
        assert_eq!(formula("α_2 = 1, q_⋆, q̂_0"), "α<sub>2</sub> = 1, q<sub>⋆</sub>, q̂<sub>0</sub>");
        assert_eq!(formula("ε_1 < 0.1 & eps_se"), "ε<sub>1</sub> &lt; 0.1 &amp; eps_se");
    }

    #[test]
    fn every_exhibit_has_its_section_and_is_linked_from_the_front() {
        let ids = ["1", "2bc", "3b", "B4", "S 1/2"];
        let with = |id: &&str| {
            let exhibit = Exhibit { id: id.to_string(), ..figure() };
            if id.starts_with('B') {
                Exhibit { findings: answers("How far?", "1.2"), ..exhibit }
            } else {
                exhibit
            }
        };
        let page = report(ids.iter().map(with).collect()).html().unwrap();
        for name in ["fig-1", "fig-2bc", "fig-3b", "fig-B4", "fig-S-1-2"] {
            let verdict = if name == "fig-B4" { "answers" } else { "reproduced" };
            let section =
                format!("<section class=\"exhibit\" id=\"{name}\" data-verdict=\"{verdict}\">");
            assert_eq!(page.matches(&section).count(), 1, "{name}");
            assert!(page.contains(&format!("href=\"#{name}\"")), "{name}");
        }
        let (paper, beyond) = page.split_once("Beyond the paper</h2>").unwrap();
        assert!(paper.contains("id=\"fig-3b\"") && !paper.contains("id=\"fig-B4\""));
        assert!(beyond.contains("id=\"fig-B4\"") && beyond.contains("Question:"));
    }

    #[test]
    fn two_exhibits_cannot_share_a_place() {
        let other = Exhibit { id: "3 b".into(), ..figure() };
        let same = Exhibit { id: "3/b".into(), ..figure() };
        let error = report(vec![other, figure(), same]).html().unwrap_err();
        assert!(matches!(error, ReportError::SameId { id } if id == "3/b"));
    }

    #[test]
    fn texts_cannot_become_markup() {
        let bad = "</pre><script>alert('x')</script>\"&";
        let text = || bad.to_owned();
        let exhibit = Exhibit {
            id: text(),
            title: text(),
            size: Size { text: text(), full: Some(text()), fewer_points: true },
            found: text(),
            findings: claims(bad, bad, bad),
            notes: vec![text()],
            measurements: json!(bad),
            csv: text(),
            config: text(),
            command: text(),
            ..figure()
        };
        let beyond = Exhibit { id: "B1".into(), findings: answers(bad, bad), ..exhibit.clone() };
        let machine = Machine {
            processor: text(),
            system: text(),
            instructions: text(),
            ..Machine::detect(1)
        };
        let whole = Report {
            title: text(),
            version: text(),
            date: text(),
            command: text(),
            machine,
            ..report(vec![exhibit, beyond])
        };
        let page = whole.html().unwrap();
        assert!(!page.contains("<script"));
        assert!(!page.contains("</script"));
        assert!(page.matches("&lt;script&gt;").count() > 20);
    }

    #[test]
    fn nothing_is_loaded() {
        let page = report(vec![figure()]).html().unwrap();
        for forbidden in [" src=", "@import", "url(http", "url(\"", "url(//", "<script", "<iframe"]
        {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.contains("default-src 'none'"));
        // What is left of the web: the address of the paper, to be followed, and the names of SVG.
        let (links, all) = (page.matches("<a href=\"https://").count(), page.matches("https://"));
        assert_eq!(links, all.count());
        let names = page.matches("xmlns=\"http://").count();
        assert_eq!(names, page.matches("http://").count());
    }

    #[test]
    fn drawings_keep_their_names_apart() {
        let svg = figure().svg;
        assert!(svg.contains("id=\"clip0\"") && svg.contains("url(#clip0)"));
        let two = renamed(&(svg.clone() + &svg), "fig-3b");
        for name in ["fig-3b-1-clip0", "fig-3b-2-clip0"] {
            assert_eq!(two.matches(&format!("id=\"{name}\"")).count(), 1);
            assert_eq!(two.matches(&format!("url(#{name})")).count(), 1);
        }
        assert!(!two.contains("\"clip0\"") && !two.contains("(#clip0"));
        let text = "<svg><text> id=\"x\" url(#y)</text></svg>\n";
        assert_eq!(renamed(text, "fig-1"), text);
        assert_eq!(renamed("a < b", ""), "a < b");
        assert_eq!(width(&svg), 460.0);
        assert_eq!(width("<svg>"), 0.0);
    }

    #[test]
    fn data_come_back_from_the_link() {
        let page = report(vec![figure()]).html().unwrap();
        let (_, rest) = page.split_once("href=\"data:text/csv;base64,").unwrap();
        let (data, rest) = rest.split_once('"').unwrap();
        assert_eq!(STANDARD.decode(data).unwrap(), figure().csv.as_bytes());
        assert!(rest.starts_with(" download=\"fig-3b.csv\""));
        assert!(rest.contains("2 rows"));
    }
}
