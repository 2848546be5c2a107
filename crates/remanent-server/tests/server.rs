//! The server as clients see it: answers, refusals, hostile clients, and clients that go away.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use remanent_lab::experiment::{NoView, Prepared, Report, Resources, RunOptions};
use remanent_lab::options::Options as _;
use remanent_lab::plan::{Layers, Plan};
use remanent_lab::simulation::{Simulation, SimulationView};
use remanent_lab::theory::Query;
use remanent_math::philox::Stream;
use remanent_server::{Address, Options, Server};
use remanent_store::Silent;
use serde_json::Value;
use tempfile::TempDir;

/// A server on a free port, stopped when it is dropped.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    folder: TempDir,
}

impl Running {
    fn start() -> Self {
        Self::with(Address::loopback(0), false)
    }

    fn with(address: Address, read_only: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let options = Options { address, runs, cache: None, read_only, threads: 2 };
        let server = Server::bind(options).unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = thread::spawn(move || server.run(&flag));
        Self { address, stop, thread: Some(thread), folder }
    }

    fn runs(&self) -> std::path::PathBuf {
        self.folder.path().join("runs")
    }

    fn send(&self, bytes: &[u8]) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(bytes).ok()?;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Status and body.
    fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, "", "")
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        let answer = self.send(request.as_bytes()).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            body.split("\r\n").skip(1).step_by(2).collect()
        } else {
            body.to_owned()
        };
        (status, body)
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

/// What the command line prints for a question.
fn printed(question: &str) -> Value {
    let plan = Plan::of_one_case(question.parse().unwrap());
    let prepared = Prepared::<Query>::of_plan(plan, &Resources::default()).unwrap();
    let never = AtomicBool::new(false);
    prepared.run_unsaved(&Silent, &never, &NoView {}).unwrap().json()
}

fn simulate(directory: &Path, text: &str) {
    let layers = Layers { file: text.parse().unwrap(), ..Layers::default() };
    let prepared = Prepared::<Simulation>::new(layers, &Resources::default()).unwrap();
    let view = SimulationView::read(&toml::Table::new()).unwrap();
    prepared.run(&RunOptions::in_directory(directory.to_owned()), &view).unwrap();
}

#[test]
fn answers_are_those_of_the_command_line() {
    let server = Running::start();
    for (path, question) in [
        (
            "single?alpha=0.5,1.7&beta=20&branch=all",
            "ask = 'single'\nalpha = [0.5, 1.7]\nbranch = 'all'",
        ),
        (
            "chain?alpha=1,1&r0=0.5&gamma=0.5",
            "ask = 'chain'\nalpha = [1, 1]\nr0 = 0.5\ngamma = 0.5",
        ),
        (
            "chain?alpha=1,1&r0=0.5&scan=gamma%3D0,1",
            "ask = 'chain'\nalpha = [1, 1]\nr0 = 0.5\nscan = {gamma = [0, 1]}",
        ),
        ("constrained?alpha=1&q_star=0.5", "ask = 'constrained'\nalpha = 1\nq_star = 0.5"),
    ] {
        let expected = printed(question);
        assert_eq!(server.json(&format!("/api/theory/{path}")), expected, "{path}");
        // The second answer is the kept one.
        assert_eq!(server.json(&format!("/api/theory/{path}")), expected, "{path}");
    }
    let full = server.json("/api/theory/single?alpha=1&format=full");
    assert!(full["answer"].is_array() && full["notes"].is_array() && full["is_complete"] == true);
    let (status, svg) = server.get("/api/theory/single?alpha=0.5,1&format=svg");
    assert!(status == 200 && svg.contains("<svg"));
    let (status, csv) = server.get("/api/theory/single?alpha=0.5,1&format=csv");
    assert!(status == 200 && csv.starts_with("alpha,") && csv.lines().count() == 3, "{csv}");
}

#[test]
fn a_sketch_has_the_form_of_the_whole_answer() {
    let server = Running::start();
    let sketch = server.json("/api/theory/branches?beta=20&alpha=0.05:3&detail=outline");
    let rows = sketch["rows"].as_array().unwrap();
    assert!(rows.len() > 30 && sketch["folds"].as_array().unwrap().len() == 2);
    let whole = server.json("/api/theory/branches?beta=20&alpha=1.4:1.8");
    let keys = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&rows[0]), keys(&whole["rows"][0]));
    let chain = "/api/theory/chain?alpha=2,2&r0=0.5&beta=20";
    let (rough, exact) = (server.json(&format!("{chain}&detail=outline")), server.json(chain));
    assert_eq!(keys(&rough["tasks"][1]), keys(&exact["tasks"][1]));
    let eps = |found: &Value| found["tasks"][1]["eps_by_task"][0].as_f64().unwrap();
    assert!((eps(&rough) - eps(&exact)).abs() < 1e-3);
    let scan = server.json(&format!("{chain}&scan=gamma%3D0,1&detail=outline"));
    assert_eq!((scan.as_array().unwrap().len(), &scan[1]["gamma"]), (2, &1.0.into()));
}

#[test]
fn malformed_and_excessive_questions_are_refused() {
    let server = Running::start();
    for (path, status, told) in [
        ("single", 422, "alpha is missing"),
        ("single?alpha=x", 400, "alpha"),
        ("single?alpha=1&alpha=2", 400, "twice"),
        ("single?alpha=1&colour=red", 400, "takes alpha, beta"),
        ("single?alpha=-1", 422, "out of range"),
        ("single?alpha=1&format=pdf", 400, "json, full, csv, svg"),
        ("single?alpha=1&detail=outline", 400, "branches and chain"),
        ("single?alpha=0.001:1000:0.001", 422, "at most 100000"),
        ("single?alpha=0.01:5:0.01", 422, "500 points, and this server answers at most 400"),
        ("single?alpha=0:10:0.00001", 422, "1000001 values; at most 100000 are allowed"),
        ("single?alpha=0.01:1:0.01&rsb=1", 422, "at most 30"),
        ("phase-diagram?beta=1:100:1", 422, "at most 60"),
        ("chain?alpha=1,1&r0=0&scan=gamma%3D0:1:0.001", 422, "at most 400"),
        ("chain?alpha=1,1&r0=0&scan=gamma", 400, "KEY=VALUES"),
        ("chain?alpha=1,1&r0=0&scan=a%3D1&scan=b%3D1&scan=c%3D1", 422, "two axes"),
        ("tune?alpha=1,1&r0=0&gamma=0:1:0.001", 422, "at most 300"),
        ("monte-carlo?draws=1", 404, "such question"),
        ("nothing", 404, "such question"),
    ] {
        let (found, body) = server.get(&format!("/api/theory/{path}"));
        assert_eq!(found, status, "{path}: {body}");
        assert!(body.contains(told), "{path}: {body}");
    }
    let long = format!("/api/theory/single?alpha={}", "1,".repeat(5000));
    assert_eq!(server.get(&long).0, 414);
    let large = "x".repeat(200 << 10);
    assert_eq!(server.ask("POST", "/api/predict", "", &large).0, 413);
    for (body, status) in [("", 400), ("{", 400), ("[]", 400), ("{\"run\": \"x\"}", 400)] {
        assert_eq!(server.ask("POST", "/api/predict", "", body).0, status, "{body}");
    }
    let asked = r#"{"run": "../x", "case": 0, "trial": 0, "pixels": []}"#;
    assert_eq!(server.ask("POST", "/api/predict", "", asked).0, 404);
    assert_eq!(server.ask("DELETE", "/api/runs", "", "").0, 405);
}

#[test]
fn other_sites_and_names_are_refused() {
    let server = Running::start();
    let with = |headers: &str| {
        let request = format!("GET /api/runs HTTP/1.1\r\nConnection: close\r\n{headers}\r\n\r\n");
        server.send(request.as_bytes()).unwrap()
    };
    assert!(with("Host: 127.0.0.1").starts_with("HTTP/1.1 200"));
    for headers in [
        "Host: evil.example",
        "Host: 127.0.0.1\r\nOrigin: http://evil.example",
        "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site",
    ] {
        assert!(with(headers).starts_with("HTTP/1.1 403"), "{headers}");
    }
    let page =
        server.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    // What the page loads comes from here.
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn a_server_for_others_wants_its_token() {
    let token = "0123456789abcdef0123456789abcdef";
    let ip = "127.0.0.1".parse().unwrap();
    let server = Running::with(Address::bind(ip, 0, Some(token.into())).unwrap(), true);
    assert_eq!(server.get("/api/runs").0, 401);
    assert_eq!(server.get(&format!("/?token={token}")).0, 303);
    let cookie = format!("Cookie: remanent_token={token}\r\n");
    assert_eq!(server.ask("GET", "/api/runs", &cookie, "").0, 200);
    // It was started to show files only.
    assert_eq!(server.ask("GET", "/api/theory/single?alpha=1", &cookie, "").0, 403);
}

#[test]
fn runs_are_listed_and_nothing_else_is_reachable() {
    let server = Running::start();
    assert_eq!(server.json("/api/runs")["runs"].as_array().unwrap().len(), 0);
    let (runs, folder) = (server.runs(), server.folder.path());
    simulate(&runs.join("one"), "alpha = [1, 1]\nn = 40\nepochs = 3\nseeds = 3\nr0 = 0.5");
    simulate(
        &runs.join("deep/two"),
        "alpha = 1\nn = 40\nepochs = 3\n[[case]]\nlr = 0.1\n[[case]]\nlr = 0.2",
    );
    std::fs::write(folder.join("secret.html"), "secret").unwrap();
    std::fs::write(runs.join("report.html"), "<p>report</p>").unwrap();
    std::fs::write(runs.join("one/key.pem"), "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder, runs.join("link")).unwrap();

    let all = server.json("/api/runs");
    let named = |name: &str| {
        all["runs"].as_array().unwrap().iter().find(|run| run["name"] == name).cloned().unwrap()
    };
    assert_eq!(all["runs"].as_array().unwrap().len(), 2);
    assert_eq!(all["reports"], serde_json::json!(["report.html"]));
    assert_eq!((&named("one")["state"], &named("one")["done"]), (&"done".into(), &3.into()));
    assert!(named("one")["numbers"][0]["values"]["eps_2"].is_f64());
    assert_eq!(named("deep/two")["numbers"].as_array().unwrap().len(), 2);

    let one = server.json("/api/run/one?compare=20");
    assert_eq!(one["results"]["cases"][0]["simulation"]["ends"].as_array().unwrap().len(), 2);
    let rows = one["comparison"][0]["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["quantity"] == "eps_1" && row["z"].is_f64()), "{rows:?}");

    let (status, page) = server.get("/files/report.html");
    assert_eq!((status, page.as_str()), (200, "<p>report</p>"));
    for path in [
        "/files/../secret.html",
        "/files/%2e%2e/secret.html",
        "/files/..%2fsecret.html",
        "/files/link/secret.html",
        "/files/one/key.pem",
        "/files//etc/hostname",
        "/files/one%00.html",
        "/api/run/../one",
        "/api/run/%2e%2e",
        "/api/run/link",
        "/assets/../index.html",
        "/assets/vendor",
    ] {
        let (status, body) = server.get(path);
        assert!(
            (400..500).contains(&status) && !body.contains("secret"),
            "{path}: {status} {body}"
        );
    }
}

/// Computations under way.
fn running(server: &Running) -> u64 {
    server.json("/api/about")["running"].as_u64().unwrap()
}

fn wait_until(mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if done() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_computation_ends_when_its_client_goes_away() {
    let server = Running::start();
    for path in ["phase-diagram?beta=5:60:1", "branches?beta=20&rsb=1", "tune?alpha=1,1,1,1&r0=0.5"]
    {
        let mut client = TcpStream::connect(server.address).unwrap();
        let request = format!("GET /api/theory/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        client.write_all(request.as_bytes()).unwrap();
        assert!(wait_until(|| running(&server) == 1), "{path} is not computed");
        thread::sleep(Duration::from_millis(100));
        drop(client);
        let left = Instant::now();
        assert!(wait_until(|| running(&server) == 0), "{path} goes on");
        assert!(left.elapsed() < Duration::from_secs(20), "{path}: {:?}", left.elapsed());
    }
}

#[test]
fn slow_clients_do_not_keep_others_waiting() {
    let server = Running::start();
    let slow: Vec<TcpStream> = (0..200)
        .map(|i| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            // Half of them never end their heads, half never read what they asked for.
            let text: &[u8] = match i % 2 {
                0 => b"GET /api/runs HTTP/1.1\r\nHost: local",
                _ => b"GET /assets/vendor/uPlot.esm.js HTTP/1.1\r\nHost: localhost\r\n\r\n",
            };
            stream.write_all(text).unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(server.get("/api/runs").0, 200);
    }
    assert_eq!(server.get("/api/theory/single?alpha=1").0, 200);
    drop(slow);
}

/// A random request: mostly nearly right, sometimes bytes without sense.
fn fuzzed(number: u32) -> Vec<u8> {
    let stream = Stream::new(16, 0x6675_7a7a, 0, number);
    let mut index = 0;
    let mut pick = |count: u32| {
        index += 1;
        stream.bits(index)[0] % count
    };
    const METHODS: [&str; 6] = ["GET", "GET", "GET", "POST", "PUT", "\u{1}"];
    const PATHS: [&str; 12] = [
        "/",
        "/api/runs",
        "/api/run/x",
        "/api/theory/single",
        "/api/theory/chain",
        "/api/theory/branches",
        "/files/a.html",
        "/api/predict",
        "/api/image",
        "/assets/main.js",
        "/api/models",
        "//%zz/..",
    ];
    const KEYS: [&str; 12] = [
        "alpha", "beta", "r0", "gamma", "scan", "format", "branch", "rsb", "source", "index",
        "compare", "ä%f0",
    ];
    const VALUES: [&str; 16] = [
        "1",
        "-1",
        "1e999",
        "nan",
        "0:1:1e-9",
        "1,,1",
        "%00",
        "%ff%fe",
        "all",
        "json",
        "2",
        "gamma=1",
        "[]",
        "../../etc/passwd",
        "1e-320",
        "9999999999999999999999",
    ];
    const HEADERS: [&str; 8] = [
        "Host: localhost\r\n",
        "Host: localhost\r\n",
        "Host: evil\r\n",
        "Origin: null\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 99999999999\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Range: bytes=0-\r\n",
    ];
    if pick(20) == 0 {
        return (0..pick(200)).map(|_| pick(256) as u8).chain(*b"\r\n\r\n").collect();
    }
    let mut text = format!("{} {}", METHODS[pick(6) as usize], PATHS[pick(12) as usize]);
    for i in 0..pick(4) {
        let (key, value) = (KEYS[pick(12) as usize], VALUES[pick(16) as usize]);
        text += &format!("{}{key}={value}", if i == 0 { '?' } else { '&' });
    }
    text += " HTTP/1.1\r\nConnection: close\r\n";
    if pick(4) > 0 {
        text += "Host: 127.0.0.1\r\n";
    }
    for _ in 0..pick(3) {
        text += HEADERS[pick(8) as usize];
    }
    text += "\r\n";
    for _ in 0..pick(3) {
        text += VALUES[pick(16) as usize];
    }
    text.into_bytes()
}

#[test]
fn fuzzed_requests_are_answered_and_break_nothing() {
    let count = std::env::var("REMANENT_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let server = Running::start();
    simulate(&server.runs().join("x"), "alpha = 1\nn = 40\nepochs = 3");
    let statuses = std::sync::Mutex::new(std::collections::BTreeMap::<u16, u32>::new());
    thread::scope(|scope| {
        for part in 0..4_u32 {
            let (server, statuses) = (&server, &statuses);
            scope.spawn(move || {
                for number in (part..count).step_by(4) {
                    let mut stream = TcpStream::connect(server.address).unwrap();
                    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
                    let request = fuzzed(number);
                    let _ = stream.write_all(&request);
                    // The body that was announced does not come.
                    if request.windows(12).any(|part| part == b"/api/predict") {
                        let _ = stream.shutdown(std::net::Shutdown::Write);
                    }
                    let mut head = [0; 12];
                    let read = stream.read(&mut head).unwrap_or(0);
                    let status = std::str::from_utf8(&head[..read])
                        .ok()
                        .and_then(|head| head.get(9..12)?.parse().ok());
                    *statuses.lock().unwrap().entry(status.unwrap_or(0)).or_insert(0) += 1;
                }
            });
        }
    });
    let statuses = statuses.into_inner().unwrap();
    println!("{statuses:?}");
    assert!(statuses.keys().all(|status| *status < 500), "{statuses:?}");
    assert!(
        statuses.contains_key(&200) && statuses.contains_key(&400) && statuses.contains_key(&422)
    );
    assert_eq!(server.get("/api/runs").0, 200);
    assert!(wait_until(|| running(&server) == 0));
}
