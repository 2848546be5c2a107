//! A report in a browser.
//!
//! `REMANENT_REPORT_KEEP` names a folder in which the page, pictures of it and a print are left, to
//! be looked at.

#[path = "common/browser.rs"]
mod browser;

use std::fs;
use std::path::PathBuf;

use browser::Browser;
use remanent_lab::report::{Check, Exhibit, Machine, Report};
use remanent_plot::{
    Axis, Band, Color, Curve, Dash, Figure, HorizontalLine, Map, Panel, Points, VerticalLine,
};

fn span(lo: f64, hi: f64, count: usize) -> Vec<f64> {
    (0..count).map(|k| lo + (hi - lo) * k as f64 / (count - 1) as f64).collect()
}

/// A theory with points beside it.
fn curves(shift: f64) -> Panel {
    let x = span(0.0, 4.0, 100);
    let y = |x: &f64| 0.5 * (-x - shift).exp();
    let at = span(0.2, 3.8, 9);
    Panel::new(format!("γ = {shift}"), Axis::linear("α"), Axis::linear("ε_1").range(0.05, 0.6))
        .with(Band::new(
            x.clone(),
            x.iter().map(|x| 0.9 * y(x)).collect(),
            x.iter().map(|x| 1.1 * y(x)).collect(),
        ))
        .with(Curve::new(x.clone(), x.iter().map(y).collect()).label("theory"))
        .with(
            Points::new(at.clone(), at.iter().map(|x| y(x) + 0.01).collect())
                .color(Color::Palette(1))
                .error(vec![0.02; 9])
                .label("N = 500"),
        )
        .with(VerticalLine::new(1.65).label("α_c"))
}

fn map() -> Panel {
    let (x, y) = (span(0.0, 2.0, 41), span(-1.0, 1.0, 31));
    let value = |x: f64, y: f64| (3.0 * x).sin() * (2.0 * y).cos();
    let values = y.iter().flat_map(|&y| x.iter().map(move |&x| value(x, y))).collect();
    Panel::new("", Axis::linear("γ"), Axis::linear("r_0")).with(Map::new(x, y, values).label("φ"))
}

fn check(what: &str, holds: bool, essential: bool) -> Check {
    Check { what: what.to_owned(), holds, essential }
}

fn exhibit(id: &str, title: &str, figure: &Figure) -> Exhibit {
    Exhibit {
        id: id.into(),
        title: title.into(),
        beyond: id.starts_with('B'),
        size: "paper size".into(),
        reduced: false,
        claim:
            "The generalisation error falls with the load α and jumps to zero where the solutions \
                of the theory change places."
                .into(),
        found:
            "It falls as the theory says, within 1.9 standard errors at all nine loads, and jumps \
                between α = 1.6 and 1.7."
                .into(),
        checks: vec![
            check("the error falls from each load to the next", true, true),
            check("|z| < 3 at every load: the largest is 1.9, at α = 1.4", true, true),
            check("the jump lies within 0.05 of α_c = 1.650", true, false),
        ],
        notes: vec!["The learning rate is ours: no source states it.".into()],
        svg: figure.to_svg(),
        csv: "alpha,error\n".to_owned() + &"0.1,0.4\n".repeat(36),
        config: "# Error of one task against alpha.\nexperiment = \"simulate\"\nn = 1000\n\n\
                 [[case]]\nalpha = 0.1\nbatch = 128\nlr = 0.008\nweight_decay = 0.5\n"
            .into(),
        command: format!("remanent simulate --config figures/{id}/experiment.toml --plot {id}.svg"),
        seconds: Some(840.0),
        cells: 180,
    }
}

/// A figure of each verdict, one beyond the paper, narrow and wide.
fn report() -> Report {
    let line = Panel::new("", Axis::log("β"), Axis::log("time")).with(
        Curve::new(vec![1.0, 10.0, 100.0], vec![3.0, 2.0, 50.0]).dash(Dash::Dashed).markers(),
    );
    let exhibits = vec![
        exhibit("3b", "Error of one task against α", &Figure::single(curves(0.0))),
        Exhibit {
            size: "N = 500, 5 trials (paper: N = 1000, 20 trials)".into(),
            reduced: true,
            checks: vec![
                check("both errors fall with α_2", true, true),
                check("the first task is forgotten by less than 0.02", false, false),
            ],
            cells: 1,
            seconds: Some(8280.0),
            ..exhibit(
                "4ab",
                "Two tasks against α_2, with a title that is too long for one line of a telephone",
                &Figure::grid(vec![curves(0.1), curves(1.0)], 2),
            )
        },
        Exhibit {
            checks: vec![
                check("the time has a maximum at α_c", false, true),
                check("the time is finite", true, false),
            ],
            notes: vec![],
            seconds: None,
            ..exhibit(
                "3c",
                "Convergence time",
                &Figure::single(line.with(HorizontalLine::new(9.0))),
            )
        },
        Exhibit {
            claim: "Where does the prior help?".into(),
            ..exhibit("B7", "Free energy over γ and r_0", &Figure::single(map()))
        },
    ];
    Report {
        title: "Statistical mechanics of continual learning, reproduced".into(),
        quick: true,
        version: env!("CARGO_PKG_VERSION").into(),
        date: "2026-01-01".into(),
        command: "remanent reproduce all --quick --out report.html".into(),
        wall_seconds: 1234.5,
        machine: Machine::detect(2),
        exhibits,
    }
}

#[test]
fn a_browser_shows_every_figure() {
    let folder = tempfile::tempdir().unwrap();
    let keep = std::env::var_os("REMANENT_REPORT_KEEP").map(PathBuf::from);
    let page = keep.as_deref().unwrap_or(folder.path()).join("report.html");
    fs::write(&page, report().html().unwrap()).unwrap();
    let Some(browser) = Browser::find() else { return };
    let ids = ["fig-3b", "fig-4ab", "fig-3c", "fig-B7"];
    browser::check(&browser, &page, &ids, keep.as_deref());

    let sight = browser.look(&page, 1200);
    let found: Vec<_> =
        sight.sections.iter().map(|s| (s.id.as_str(), s.verdict.as_str())).collect();
    let verdicts = ["reproduced", "with_a_difference", "not_reproduced", "reproduced"];
    assert_eq!(found, ids.into_iter().zip(verdicts).collect::<Vec<_>>());
    for text in ["reproduced with a difference", "14 min", "2.3 h", "reduced size", "Question:"] {
        assert!(sight.text.contains(text), "{text} is not to be read");
    }
}

/// The check is worth something only if it sees a page that is broken.
#[test]
fn a_browser_sees_what_is_wrong() {
    let Some(browser) = Browser::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("broken.html");
    let text = "<!DOCTYPE html><meta charset=\"utf-8\">\
                <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">\
                <section id=\"fig-1\"><svg width=\"0\" height=\"0\"></svg><p id=\"fig-1\">\
                <img src=\"https://example.org/x.png\" alt=\"\"><table><tr><td>";
    fs::write(&page, text.to_owned() + &"w".repeat(400)).unwrap();
    let sight = browser.look(&page, 360);
    assert_eq!(sight.width, 360.0);
    assert!(sight.scroll_width > 360.0 && !sight.wide.is_empty());
    assert_eq!(sight.repeated, ["fig-1"]);
    assert_eq!(sight.sections[0].drawings[0][2..], [0.0, 0.0]);
    assert!(sight.console.iter().any(|line| line.contains("example.org")), "{:?}", sight.console);
    assert_eq!(browser.document(&page).1.len(), 1);
}
