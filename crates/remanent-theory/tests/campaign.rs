//! Five hundred random problems of the theory, on every run of the tests, with chains of
//! three tasks at the most. More of them, and longer ones:
//! `cargo run --release -p remanent-theory --example campaign -- --count 10000 --seed 1`.

#[path = "campaign/mod.rs"]
#[expect(dead_code, reason = "the example uses all of it, the test a part")]
mod random;

#[test]
fn five_hundred_random_problems_have_no_silent_wrong_answer() {
    let findings = random::campaign(2212, &Vec::from_iter(0..500), 25, 3, &|_| ());
    let wrong: Vec<String> = findings
        .iter()
        .filter(|f| !f.violations.is_empty())
        .map(|f| format!("{} {:?} {:?} {}", f.number, f.kind, f.violations, f.options))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
