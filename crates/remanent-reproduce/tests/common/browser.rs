//! A page as a browser sees it: Chromium without a window.
//!
//! Any test crate can have this file by `#[path]`; it needs `serde_json` and `tempfile`. The browser
//! is the one that the environment variable `REMANENT_CHROMIUM` names, or one that the `PATH` has. A
//! test without one is left out, aloud, unless `REMANENT_CHROMIUM_REQUIRED` is set.
//!
//! The page is laid out in a frame of the width asked for, because windows of Chromium are never
//! narrower than 500 pixels. A script added to a copy of it writes what it measures into the
//! document, and the browser prints that. Nothing can be loaded: no name of a server is resolved, and
//! an attempt stands in the console, where nothing may stand.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Programs to look for.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// How long a page may take: a machine under load starts a browser slowly.
const PATIENCE: Duration = Duration::from_secs(120);

/// Chromium draws no larger picture.
const MOST_PIXELS: u32 = 16_000;

/// The script that measures. It runs in the page, and tells the page around it.
const MEASURE: &str = r#"<script>
addEventListener("load", () => {
  const box = (e) => { const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; };
  const root = document.documentElement;
  const height = root.scrollHeight;
  // What can be opened must not stick out either.
  document.querySelectorAll("details").forEach((e) => { e.open = true; });
  // Whether an element stands in a box that scrolls by itself.
  const boxed = (e) => { for (; e && e !== document.body; e = e.parentElement)
    if (getComputedStyle(e).overflowX !== "visible") return true; return false; };
  const wide = [...document.body.querySelectorAll("*")].filter((e) =>
    e.getBoundingClientRect().right > root.clientWidth + 1 && !boxed(e));
  const names = [...document.querySelectorAll("[id]")].map((e) => e.id);
  const seen = {
    width: innerWidth,
    scroll_width: root.scrollWidth,
    height,
    text: document.body.innerText,
    repeated: names.filter((id, at) => names.indexOf(id) !== at),
    wide: wide.map((e) => e.tagName + "." + e.className),
    sections: [...document.querySelectorAll("section[id]")].map((s) => ({
      id: s.id,
      verdict: s.dataset.verdict ?? "",
      box: box(s),
      drawings: [...s.querySelectorAll("svg")].map(box),
    })),
  };
  const text = new TextEncoder().encode(JSON.stringify(seen));
  parent.document.body.dataset.seen = [...text].map((b) => b.toString(16).padStart(2, "0")).join("");
});
</script>"#;

/// A browser.
pub struct Browser {
    program: PathBuf,
}

/// What a browser saw of a page.
#[derive(Debug)]
pub struct Sight {
    /// The width of the window in pixels.
    pub width: f64,
    /// The width of what is in it: more than that of the window if the page has to be scrolled.
    pub scroll_width: f64,
    /// The height of the whole page, with what can be opened closed.
    pub height: f64,
    /// The text that can be read, with all that can be opened.
    pub text: String,
    /// Names of elements that are there more than once.
    pub repeated: Vec<String>,
    /// Elements that stick out of the window.
    pub wide: Vec<String>,
    /// The sections that have a name.
    pub sections: Vec<Section>,
    /// The lines of the console.
    pub console: Vec<String>,
}

/// A section of a page.
#[derive(Debug)]
pub struct Section {
    /// Its name.
    pub id: String,
    /// Its `data-verdict`.
    pub verdict: String,
    /// Left, top, width and height.
    pub area: [f64; 4],
    /// The same of every drawing in it.
    pub drawings: Vec<[f64; 4]>,
}

impl Browser {
    /// The browser of this machine. If there is none, this says so, or panics if one is required.
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("REMANENT_CHROMIUM").filter(|name| !name.is_empty());
        let wanted = match &named {
            Some(name) => vec![name.as_os_str()],
            None => NAMES.map(OsStr::new).to_vec(),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        // A name with a slash stays what it is, seen from any folder that is absolute.
        let places = || std::env::split_paths(&path).chain([PathBuf::new()]);
        let found = wanted
            .iter()
            .flat_map(|name| places().map(move |folder| folder.join(name)))
            .find(|program| program.is_file());
        assert!(
            found.is_some() || std::env::var_os("REMANENT_CHROMIUM_REQUIRED").is_none(),
            "a browser is required, and there is none among {wanted:?}"
        );
        if found.is_none() {
            // Past the capture of the test harness: a test that is left out must be seen.
            let text =
                format!("skipped: no browser among {wanted:?}; REMANENT_CHROMIUM names one\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        found.map(|program| Self { program })
    }

    /// Looks at a page in a window of some width.
    pub fn look(&self, page: &Path, width: u32) -> Sight {
        let folder = tempfile::tempdir().unwrap();
        let frame = framed(page, width, 900, true, folder.path());
        let (dom, log) = self.run(&["--dump-dom".into()], (width.max(500), 900), &frame);
        let (_, rest) = dom.split_once("data-seen=\"").expect("the page measured itself");
        let digits = rest.split('"').next().unwrap();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        let seen: Value = serde_json::from_slice(&bytes).unwrap();
        let number = |value: &Value| value.as_f64().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let texts = |value: &Value| value.as_array().unwrap().iter().map(text).collect();
        let area = |value: &Value| [0, 1, 2, 3].map(|at| number(&value[at]));
        let section = |value: &Value| Section {
            id: text(&value["id"]),
            verdict: text(&value["verdict"]),
            area: area(&value["box"]),
            drawings: value["drawings"].as_array().unwrap().iter().map(area).collect(),
        };
        Sight {
            width: number(&seen["width"]),
            scroll_width: number(&seen["scroll_width"]),
            height: number(&seen["height"]),
            text: text(&seen["text"]),
            repeated: texts(&seen["repeated"]),
            wide: texts(&seen["wide"]),
            sections: seen["sections"].as_array().unwrap().iter().map(section).collect(),
            console: console(&log),
        }
    }

    /// The page itself, without any script: the document that the browser makes of it, and the lines
    /// of the console.
    pub fn document(&self, page: &Path) -> (String, Vec<String>) {
        let (dom, log) = self.run(&["--dump-dom".into()], (1200, 900), page);
        (dom, console(&log))
    }

    /// Writes a picture of a page as PNG, as much of its height as a picture can have.
    pub fn picture(&self, page: &Path, width: u32, height: f64, to: &Path) {
        let height = (height.ceil() as u32).clamp(1, MOST_PIXELS);
        let folder = tempfile::tempdir().unwrap();
        let frame = framed(page, width, height, false, folder.path());
        let arguments = [argument("--screenshot=", to), "--hide-scrollbars".into()];
        self.run(&arguments, (width.max(500), height), &frame);
        assert!(fs::metadata(to).is_ok_and(|file| file.len() > 0), "no picture of {page:?}");
    }

    /// Writes a page as PDF, as it is printed.
    pub fn print(&self, page: &Path, to: &Path) {
        let arguments = [argument("--print-to-pdf=", to), "--no-pdf-header-footer".into()];
        self.run(&arguments, (1200, 900), page);
        assert!(fs::read(to).is_ok_and(|pdf| pdf.starts_with(b"%PDF")), "{page:?} was not printed");
    }

    /// Runs the browser on a page, and gives what it writes and its log.
    fn run(&self, arguments: &[OsString], size: (u32, u32), page: &Path) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let (out, log) = (folder.path().join("out"), folder.path().join("log"));
        let mut child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking"])
            .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000"])
            .arg("--host-resolver-rules=MAP * ~NOTFOUND")
            // The frame and the page in it are files, which otherwise may not see one another.
            .arg("--allow-file-access-from-files")
            .arg(format!("--window-size={},{}", size.0, size.1))
            .arg(argument("--user-data-dir=", &folder.path().join("profile")))
            .args(arguments)
            .arg(argument("file://", &page.canonicalize().unwrap()))
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.program));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the browser did not end:\n{}", read(&log));
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "the browser failed, {status}:\n{}", read(&log));
        (read(&out), read(&log))
    }
}

/// All that a report must be in a browser, at the widths of a desk and of a telephone: every section
/// there, each with a drawing that has a size, nothing sticking out, no name twice, and a silent
/// console. Pictures and a print are left in `keep`, if it is given.
pub fn check(browser: &Browser, page: &Path, sections: &[&str], keep: Option<&Path>) {
    let (document, console) = browser.document(page);
    assert_eq!(console, Vec::<String>::new());
    for id in sections {
        assert!(document.contains(&format!("id=\"{id}\"")), "{id} is not in the document");
    }
    for width in [1200, 360] {
        let sight = browser.look(page, width);
        assert_eq!(sight.width, f64::from(width));
        assert_eq!(sight.console, Vec::<String>::new(), "at {width}");
        assert_eq!(sight.repeated, Vec::<String>::new(), "at {width}");
        assert!(sight.scroll_width <= sight.width, "{} at {width}", sight.scroll_width);
        assert_eq!(sight.wide, Vec::<String>::new(), "at {width}");
        for id in sections {
            let section = sight.sections.iter().find(|section| section.id == *id);
            let section = section.unwrap_or_else(|| panic!("no {id} at {width}"));
            assert!(!section.drawings.is_empty(), "no drawing in {id} at {width}");
            for [_, _, w, h] in &section.drawings {
                assert!(*w >= 200.0 && *h >= 100.0, "{id} has a drawing of {w} by {h} at {width}");
            }
        }
        if let Some(folder) = keep {
            browser.picture(page, width, sight.height, &folder.join(format!("{width}.png")));
        }
    }
    if let Some(folder) = keep {
        browser.print(page, &folder.join("print.pdf"));
    }
}

/// A page that shows another in a frame; a copy of that, which measures itself if it is told to,
/// stands beside it.
fn framed(page: &Path, width: u32, height: u32, measure: bool, folder: &Path) -> PathBuf {
    let mut copy = fs::read_to_string(page).unwrap();
    if measure {
        // A report forbids scripts.
        copy = copy.replacen(
            "default-src 'none'",
            "default-src 'none'; script-src 'unsafe-inline'",
            1,
        );
        copy.push_str(MEASURE);
    }
    fs::write(folder.join("copy.html"), copy).unwrap();
    let frame = folder.join("frame.html");
    let text = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><body style=\"margin:0\"><iframe src=\"copy.html\" \
         style=\"display:block;border:0\" width=\"{width}\" height=\"{height}\"></iframe>"
    );
    fs::write(&frame, text).unwrap();
    frame
}

/// What pages wrote into the console: the lines `[...:INFO:CONSOLE:12] "text", source: ...`.
fn console(log: &str) -> Vec<String> {
    log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect()
}

fn argument(option: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(option);
    argument.push(path);
    argument
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
