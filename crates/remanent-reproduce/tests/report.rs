//! A report in a browser.
//!
//! `REMANENT_REPORT_KEEP` names a folder in which the page, pictures of it and a print are left, to
//! be looked at.

#[path = "common/browser.rs"]
mod browser;

use std::fs;
use std::path::PathBuf;

use browser::Browser;
use remanent_plot::{
    Axis, Band, Color, Curve, Dash, Figure, HorizontalLine, Map, Panel, Points, VerticalLine,
};
use remanent_reproduce::report::{Exhibit, Machine, Report, Size};
use remanent_reproduce::verdict::{
    Agreement, Answer, Claim, Estimate, Findings, Pair, Test, Threshold,
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

const NEAR: Threshold = Threshold {
    value: 0.02,
    reason: "0.02 is what can be read off the paper's plots, and too little to change a choice of parameters",
};

fn estimate(value: f64, standard_error: f64) -> Option<Estimate> {
    Some(Estimate { value, standard_error: Some(standard_error), trials: Some(20) })
}

/// A fall of the error that supports a claim, contradicts it, or leaves it open.
fn fall(from: f64, value: f64) -> Test {
    let quantity = format!("change of ε_1 from α_2 = {from} to α_2 = {}", from + 0.5);
    Test::below(quantity, estimate(value, 0.004), Threshold::ZERO)
}

fn claim(says: &str, falls: &[f64]) -> Claim {
    let tests = falls.iter().enumerate().map(|(i, &value)| fall(0.5 * i as f64, value));
    let tests: Vec<Test> = tests.collect();
    Claim::new(says, "Sec. II C, Fig. 3b", tests)
}

fn agreement(apart: f64) -> [Test; 2] {
    let pair = |_| Pair { simulation: estimate(0.3 + apart, 0.004).unwrap(), theory: Some(0.3) };
    let agreement = Agreement::new("SGD and theory", (0..17).map(pair).collect(), 17);
    [agreement.close(NEAR), agreement.consistent()]
}

fn exhibit(id: &str, title: &str, figure: &Figure) -> Exhibit {
    Exhibit {
        id: id.into(),
        title: title.into(),
        size: Size { text: "N = 1000, 20 trials".into(), full: None, fewer_points: false },
        found:
            "The error falls as the theory says, by 0.030 ± 0.004 at least, and jumps between α = 1.6 and 1.7."
                .into(),
        findings: Findings::Claims(vec![
            claim("The error falls with the load α_2.", &[-0.05, -0.04, -0.03])
                .remark(agreement(0.01)),
            claim("The transition is continuous.", &[-0.03]),
        ]),
        notes: vec!["The learning rate is ours: no source states it.".into()],
        measurements: serde_json::json!({"fall": 0.03}),
        svg: figure.to_svg(),
        csv: "alpha,error\n".to_owned() + &"0.1,0.4\n".repeat(36),
        config: "# Error of one task against alpha.\nexperiment = \"simulate\"\nn = 1000\n\n\
                 [[case]]\nalpha = 0.1\nbatch = 128\nlr = 0.008\nweight_decay = 0.5\n"
            .into(),
        command: format!("remanent simulate --config configs/{id}.toml --plot {id}.svg"),
        seconds: Some(840.0),
        cells: 180,
    }
}

/// A figure of each verdict, and one beyond the paper, narrow and wide.
fn report() -> Report {
    let line = Panel::new("", Axis::log("β"), Axis::log("time")).with(
        Curve::new(vec![1.0, 10.0, 100.0], vec![3.0, 2.0, 50.0]).dash(Dash::Dashed).markers(),
    );
    let (falls, rises) =
        (claim("Both errors fall with α_2.", &[-0.03]), claim("They do so early.", &[0.03, -0.03]));
    let open = claim("The first task is forgotten slowly.", &[-0.005]);
    let size = Size {
        text: "N = 500, 5 trials".into(),
        full: Some("N = 1000, 20 trials".into()),
        fewer_points: false,
    };
    let question =
        "Where does the prior help, and by how much does it change what has to be stored?";
    let answer = Answer::new(question, "Nowhere: 0.012 ± 0.004 at γ = 0.5, and less elsewhere.");
    let exhibits = vec![
        exhibit("3b", "Error of one task against α", &Figure::single(curves(0.0))),
        Exhibit {
            findings: Findings::Claims(vec![falls, rises.clone()]),
            cells: 1,
            seconds: Some(8280.0),
            ..exhibit(
                "4ab",
                "Two tasks against α_2, with a title that is too long for one line of a telephone",
                &Figure::grid(vec![curves(0.1), curves(1.0)], 2),
            )
        },
        Exhibit {
            findings: Findings::Claims(vec![rises]),
            notes: vec![],
            seconds: None,
            ..exhibit(
                "3c",
                "Convergence time",
                &Figure::single(line.with(HorizontalLine::new(9.0))),
            )
        },
        Exhibit {
            size,
            findings: Findings::Claims(vec![open]),
            ..exhibit("5a", "Time course", &Figure::single(curves(0.2)))
        },
        Exhibit {
            findings: Findings::Answers(vec![answer.tested(agreement(0.03))]),
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
    let ids = ["fig-3b", "fig-4ab", "fig-3c", "fig-5a", "fig-B7"];
    browser::check(&browser, &page, &ids, keep.as_deref());

    let sight = browser.look(&page, 1200);
    let found: Vec<_> =
        sight.sections.iter().map(|s| (s.id.as_str(), s.verdict.as_str())).collect();
    let verdicts = ["reproduced", "in_part", "not_reproduced", "undecided", "answers"];
    assert_eq!(found, ids.into_iter().zip(verdicts).collect::<Vec<_>>());
    let texts =
        ["reproduced in part", "contradicted", "14 min", "2.3 h", "reduced size", "Question"];
    for text in texts {
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
