//! The page made of a report: what is computed for it here, and its layout in `page.html` and
//! `page.css`.
//!
//! Everything that a report says is escaped on its way into the page, but for the drawings. These
//! are put into one document, where names must not meet: every figure of `remanent-plot` calls its
//! first clipping region `clip0`, and a browser would clip all of them by the first. So the names in a
//! drawing get that of the exhibit in front.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior, context};

use super::{Exhibit, Report, ReportError};
use crate::verdict::{Findings, Outcome, Test, Verdict};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// A drawing that is wider, in its own units, is not shrunk to the width of a telephone.
const WIDE: f64 = 600.0;

pub(super) fn render(report: &Report) -> Result<String, ReportError> {
    let mut seen = HashSet::new();
    if let Some(twice) = report.exhibits.iter().find(|e| !seen.insert(anchor(&e.id))) {
        return Err(ReportError::SameId { id: twice.id.clone() });
    }
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // Lines that hold only a statement leave no empty line behind.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?;
    environment.set_syntax(syntax);
    environment.add_filter("duration", duration);
    environment.add_filter("formula", formula);
    // The name ends in `.html`, which is what turns escaping on.
    environment.add_template("page.html", TEMPLATE)?;
    let of = |beyond| report.exhibits.iter().filter(move |e| e.is_beyond() == beyond);
    let groups =
        [(false, "The paper’s figures"), (true, "Beyond the paper")].map(|(beyond, title)| {
            context! { title, beyond, exhibits => of(beyond).map(exhibit).collect::<Vec<_>>() }
        });
    let counts = Verdict::ALL.map(|v| {
        let count = of(false).filter(|e| e.verdict() == Some(v)).count();
        context! { verdict => verdict(v), count }
    });
    // The groups have the exhibits: a second copy of the drawings and data would only cost time.
    let front = context! {
        title => report.title.as_str(),
        quick => report.quick,
        version => report.version.as_str(),
        date => report.date.as_str(),
        command => report.command.as_str(),
        wall_seconds => report.wall_seconds,
        machine => Value::from(Serde(&report.machine)),
    };
    let page = environment.get_template("page.html")?.render(context! {
        report => front,
        style => Value::from_safe_string(STYLE.to_owned()),
        groups => groups.to_vec(),
        counts => counts.to_vec(),
        rules => crate::verdict::RULES,
    })?;
    Ok(page)
}

/// A text in which `α_2` or `q_⋆` becomes a letter with an index; all else is escaped.
fn formula(text: &str) -> Value {
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
    Value::from_safe_string(out)
}

/// The name of an exhibit in the page, for links: `fig-3b`.
pub fn anchor(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    format!("fig-{}", id.chars().map(plain).collect::<String>())
}

/// A time to be read: `1.2 s`, `14 min`, `2.3 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        // Nothing that was measured.
        s if !(s.is_finite() && s >= 0.0) => "–".to_owned(),
        s if s < 0.0995 => format!("{:.0} ms", 1e3 * s),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 9.95 * 60.0 => format!("{:.1} min", s / 60.0),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 99.5 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

fn verdict(verdict: Verdict) -> Value {
    context! {
        name => verdict.name(),
        text => verdict.to_string(),
        symbol => verdict.symbol().to_string(),
    }
}

fn outcome(outcome: Outcome) -> Value {
    context! { name => outcome.name(), symbol => outcome.symbol().to_string() }
}

/// A test of a list. Where several in a row have the same reason, the last one gives it.
fn test(test: &Test, next: Option<&Test>) -> Value {
    let reason = Some(&test.reason).filter(|reason| next.is_none_or(|t| t.reason != **reason));
    context! {
        outcome => outcome(test.outcome),
        statement => test.statement(),
        margin => test.margin.as_str(),
        reason,
    }
}

fn tests(tests: &[Test]) -> Vec<Value> {
    tests.iter().enumerate().map(|(i, one)| test(one, tests.get(i + 1))).collect()
}

/// Claims and answers have the same layout.
fn findings(findings: &Findings) -> Vec<Value> {
    match findings {
        Findings::Claims(claims) => claims
            .iter()
            .map(|claim| {
                context! {
                    says => claim.says.as_str(),
                    place => claim.place.as_str(),
                    outcome => outcome(claim.outcome),
                    tests => tests(&claim.tests),
                    remarks => tests(&claim.remarks),
                }
            })
            .collect(),
        Findings::Answers(answers) => answers
            .iter()
            .map(|answer| {
                context! {
                    question => answer.question.as_str(),
                    answer => answer.answer.as_str(),
                    tests => tests(&answer.tests),
                }
            })
            .collect(),
    }
}

fn exhibit(exhibit: &Exhibit) -> Value {
    let anchor = anchor(&exhibit.id);
    context! {
        id => exhibit.id.as_str(),
        title => exhibit.title.as_str(),
        beyond => exhibit.is_beyond(),
        size => exhibit.size.sentence(),
        extent => exhibit.size.text.as_str(),
        reduced => exhibit.size.is_reduced(),
        found => exhibit.found.as_str(),
        findings => findings(&exhibit.findings),
        notes => Value::from(Serde(&exhibit.notes)),
        config => exhibit.config.as_str(),
        command => exhibit.command.as_str(),
        seconds => exhibit.seconds,
        cells => exhibit.cells,
        verdict => exhibit.verdict().map(verdict),
        svg => Value::from_safe_string(renamed(&exhibit.svg, &anchor)),
        wide => width(&exhibit.svg) > WIDE,
        rows => exhibit.csv.lines().count().saturating_sub(1),
        // Without escaping, which knows a slash as dangerous: there are none but letters, digits and
        // three harmless signs.
        csv => Value::from_safe_string(STANDARD.encode(&exhibit.csv)),
        anchor,
    }
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
        let of = |text: &str| formula(text).to_string();
        assert_eq!(of("α_2 = 1, q_⋆, q̂_0"), "α<sub>2</sub> = 1, q<sub>⋆</sub>, q̂<sub>0</sub>");
        assert_eq!(of("ε_1 < 0.1 & eps_se"), "ε<sub>1</sub> &lt; 0.1 &amp; eps_se");
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

    #[test]
    fn times_are_read_at_a_glance() {
        let times = [
            (0.0, "0 ms"),
            (0.012, "12 ms"),
            (0.1, "0.1 s"),
            (1.23, "1.2 s"),
            (9.96, "10 s"),
            (99.4, "99 s"),
            (100.0, "1.7 min"),
            (840.0, "14 min"),
            (8280.0, "2.3 h"),
            (5e5, "139 h"),
            (f64::NAN, "–"),
            (-1.0, "–"),
        ];
        for (seconds, text) in times {
            assert_eq!(duration(seconds), text);
        }
    }
}
