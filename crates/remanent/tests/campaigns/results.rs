//! What a campaign found: a table on standard output, and a section of RESULTS.md.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

const HEAD: &str = "# Results of the campaigns

The last large run of each campaign, written by `cargo test --release -p remanent --test campaigns -- CAMPAIGN --count N \
                    --seed S --keep`; do not edit.
";

/// What a campaign found.
pub struct Results {
    /// Its name.
    pub campaign: &'static str,
    /// What was asked for.
    pub seed: u64,
    /// What was counted: `300 kills`.
    pub count: String,
    /// The names of the columns of the rows.
    pub columns: Vec<&'static str>,
    /// One row a kind.
    pub rows: Vec<Vec<String>>,
    /// What must not happen, one line each.
    pub violations: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

impl Results {
    /// Prints the table and the violations.
    pub fn print(&self) {
        println!("{}", self.section());
        for violation in &self.violations {
            println!("VIOLATION {violation}");
        }
    }

    fn section(&self) -> String {
        let Self { campaign, seed, count, columns, rows, violations, seconds } = self;
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = &now[..10];
        let version = format!("{}{}", env!("CARGO_PKG_VERSION"), commit());
        let mut text = format!("## {campaign}\n\n");
        text += &table(
            &["date", "version", "seed", "count", "violations", "seconds"],
            &[vec![
                date.to_string(),
                version,
                seed.to_string(),
                count.clone(),
                violations.len().to_string(),
                format!("{seconds:.0}"),
            ]],
        );
        text + "\n" + &table(columns, rows)
    }

    /// Replaces the section of this campaign in the file.
    pub fn keep(&self) -> std::io::Result<()> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/campaigns/RESULTS.md");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let mut sections: Vec<(String, String)> = before
            .split("\n## ")
            .skip(1)
            .filter_map(|section| Some((section.lines().next()?.into(), format!("## {section}"))))
            .filter(|(name, _)| name != self.campaign)
            .collect();
        sections.push((self.campaign.into(), self.section()));
        sections.sort();
        let sections: Vec<&str> = sections.iter().map(|(_, text)| text.trim_end()).collect();
        fs::write(path, format!("{HEAD}\n{}\n", sections.join("\n\n")))
    }
}

fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(columns) + &format!("|{}\n", "---|".repeat(columns.len()));
    for row in rows {
        text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text
}

/// ` (abc1234)`, the commit of the repository, if it can be known.
fn commit() -> String {
    let mut command = Command::new("git");
    command.args(["rev-parse", "--short", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    match command.output() {
        Ok(output) if output.status.success() => {
            format!(" ({})", String::from_utf8_lossy(&output.stdout).trim())
        }
        _ => String::new(),
    }
}
