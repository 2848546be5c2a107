//! Slurm: the scripts of an array of shards and of the job that sums up, and their submission.
//!
//! A task of the array is `COMMAND --shard I/N`. Slurm warns the script a minute before the time limit,
//! and when the task is preempted; the script passes the signal on, the program saves its cells and ends
//! with 130, and the task goes back into the queue. A task that is lost with its node is started again by
//! Slurm (`--requeue`). The last job depends on the array, however that ends: it computes what may be
//! left and prints the summary.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use remanent_store::atomic;

/// Where the scripts are in the run directory.
pub const FOLDER: &str = "slurm";

/// What the scripts need to know.
pub struct Scripts<'a> {
    /// The run directory.
    pub directory: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// Its arguments, without `--shard`.
    pub words: &'a [String],
    /// Further arguments of the last job.
    pub last_words: &'a [String],
    /// The number of shards.
    pub tasks: usize,
    /// Threads of each.
    pub cpus: usize,
    /// Memory of each, in MiB.
    pub mebibytes: u64,
    /// The time limit as Slurm reads it.
    pub time: &'a str,
    /// Lines before the program, such as `module load …`.
    pub setup: &'a [String],
    /// Further options of sbatch, such as `--partition=long`.
    pub options: &'a [String],
}

/// Reads a time limit as Slurm does: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS.
pub fn read_time(text: &str) -> Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (days, rest) = text.split_once('-').map_or((None, text), |(days, rest)| (Some(days), rest));
    let parts: Vec<&str> = rest.split(':').collect();
    if days.is_none_or(is_number) && parts.len() <= 3 && parts.into_iter().all(is_number) {
        return Ok(text.to_owned());
    }
    Err("a time limit is in minutes, or MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS".into())
}

/// What this process is to Slurm, if Slurm started it.
pub fn job() -> Option<String> {
    let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (of("SLURM_ARRAY_JOB_ID"), of("SLURM_ARRAY_TASK_ID"), of("SLURM_JOB_ID")) {
        (Some(job), Some(task), _) => Some(format!("Slurm job {job}_{task}")),
        (_, _, Some(job)) => Some(format!("Slurm job {job}")),
        _ => None,
    }
}

impl Scripts<'_> {
    /// The script of the array.
    pub fn array(&self) -> String {
        let name = self.name();
        let tasks = self.tasks;
        let head = [format!("--job-name={name}"), format!("--array=1-{tasks}")];
        let shard = format!("--shard \"$SLURM_ARRAY_TASK_ID/{tasks}\"");
        let run = format!("{} {shard}", self.command(&[]));
        self.script("array.sh", "task-%a.log", &head, &run)
    }

    /// The script of the job that sums up.
    pub fn last(&self) -> String {
        let head = [format!("--job-name={}-summary", self.name())];
        let status = format!(
            "{} status {}",
            quote(&self.program.display().to_string()),
            quote(&self.shown())
        );
        let check = format!(
            "# Cells that have failed are not tried again: remanent retry clears them.\n{status} || exit 1\n"
        );
        let body = self.script("summary.sh", "summary.txt", &head, &self.command(self.last_words));
        // Before the program is started.
        body.replacen("# The program", &format!("{check}# The program"), 1)
    }

    /// Writes both scripts into the run directory.
    pub fn write(&self) -> anyhow::Result<()> {
        let folder = self.directory.join(FOLDER);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        atomic::write(&folder.join("array.sh"), &[self.array().as_bytes()])?;
        atomic::write(&folder.join("summary.sh"), &[self.last().as_bytes()])?;
        Ok(())
    }

    /// Hands both scripts to Slurm; gives the numbers of the jobs.
    pub fn submit(&self) -> anyhow::Result<[String; 2]> {
        let folder = self.directory.join(FOLDER);
        let array = sbatch(&[], &folder.join("array.sh"))?;
        let after = format!("--dependency=afterany:{array}");
        let last = sbatch(&[&after], &folder.join("summary.sh"))?;
        let text = format!("array {array}\nsummary {last}\n");
        atomic::write(&folder.join("jobs.txt"), &[text.as_bytes()])?;
        Ok([array, last])
    }

    fn shown(&self) -> String {
        self.directory.display().to_string()
    }

    fn name(&self) -> String {
        let name = self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c));
        format!("remanent-{}", plain.collect::<String>())
    }

    fn command(&self, more: &[String]) -> String {
        let program = self.program.display().to_string();
        let words = std::iter::once(&program).chain(self.words).chain(more);
        let words: Vec<String> = words.map(|word| quote(word)).collect();
        format!("{} --threads \"${{SLURM_CPUS_PER_TASK:-{}}}\"", words.join(" "), self.cpus)
    }

    fn script(&self, file: &str, log: &str, head: &[String], run: &str) -> String {
        let folder = format!("{}/{FOLDER}", self.shown());
        let mut lines = vec![
            "#!/bin/bash".to_owned(),
            format!(
                "# Written by remanent submit. It can be edited; submit it with: sbatch {}",
                quote(&format!("{folder}/{file}"))
            ),
        ];
        let common = [
            format!("--cpus-per-task={}", self.cpus),
            format!("--mem={}M", self.mebibytes),
            format!("--time={}", self.time),
            "--requeue".into(),
            "--open-mode=append".into(),
            // A minute before the time limit, to this script.
            "--signal=B:TERM@60".into(),
            format!("--output={folder}/{log}"),
        ];
        let options = head.iter().chain(&common).chain(self.options);
        lines.extend(options.map(|option| format!("#SBATCH {option}")));
        lines.push(String::new());
        lines.extend(self.setup.iter().cloned());
        lines.push(format!(
            "\
# The program saves its cells and ends with 130 when it is asked to stop: at the time limit, or when the
# task is preempted. Then the task goes back into the queue. One that was cancelled does not.
{run} &
program=$!
trap 'kill -TERM \"$program\" 2>/dev/null' TERM
wait \"$program\"
code=$?
while kill -0 \"$program\" 2>/dev/null; do
    wait \"$program\"
    code=$?
done
if [[ $code == 130 ]] && scontrol show job \"$SLURM_JOB_ID\" | grep -q JobState=RUNNING; then
    scontrol requeue \"$SLURM_JOB_ID\"
    # Slurm ends this script.
    sleep 60
fi
exit $code"
        ));
        lines.join("\n") + "\n"
    }
}

/// The number of the job.
fn sbatch(options: &[&str], script: &Path) -> anyhow::Result<String> {
    let output = Command::new("sbatch").arg("--parsable").args(options).arg(script).output();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "there is no program sbatch: is this a machine from which jobs are submitted? the scripts \
             are in {}",
            script.parent().unwrap_or(script).display()
        ),
        output => output.context("cannot run sbatch")?,
    };
    if !output.status.success() {
        bail!("sbatch {}: {}", script.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // With several clusters: the number, a semicolon, and the name of the cluster.
    Ok(text.trim().split(';').next().unwrap_or_default().to_owned())
}

/// A word as the shell reads it.
fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Seconds as a time limit: hours, minutes and seconds, rounded up to minutes.
pub fn time_limit(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil().clamp(1.0, 1e6) as u64;
    format!("{:02}:{:02}:00", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn scripts_hold_what_was_asked_for() {
        let mut arguments = words("simulate --alpha 1 --out runs/x --set");
        arguments.push("title='it''s'".replace("''", "'"));
        let scripts = Scripts {
            directory: Path::new("runs/x"),
            program: Path::new("/opt/re manent"),
            words: &arguments,
            last_words: &words("--plot runs/x/plot.svg"),
            tasks: 8,
            cpus: 2,
            mebibytes: 512,
            time: "01:30:00",
            setup: &["module load rust".to_owned()],
            options: &["--partition=long".to_owned()],
        };
        let array = scripts.array();
        for line in [
            "#SBATCH --array=1-8",
            "#SBATCH --partition=long",
            "#SBATCH --time=01:30:00",
            "#SBATCH --output=runs/x/slurm/task-%a.log",
            "module load rust",
        ] {
            assert!(array.lines().any(|found| found == line), "{line}: {array}");
        }
        let run = r#"'/opt/re manent' simulate --alpha 1 --out runs/x --set 'title='\''it'\''s'\''' --threads "${SLURM_CPUS_PER_TASK:-2}" --shard "$SLURM_ARRAY_TASK_ID/8" &"#;
        assert!(array.contains(run), "{array}");
        let last = scripts.last();
        assert!(last.contains("--plot runs/x/plot.svg") && !last.contains("--shard"), "{last}");
        assert!(last.contains("status runs/x || exit 1"), "{last}");
        for script in [array, last] {
            let check = Command::new("bash").args(["-n", "-c", &script]).status();
            assert!(check.is_ok_and(|status| status.success()), "{script}");
        }
    }

    #[test]
    fn limits_are_rounded_up() {
        assert_eq!(time_limit(0.0), "00:01:00");
        assert_eq!(time_limit(61.0), "00:02:00");
        assert_eq!(time_limit(90_000.0), "25:00:00");
    }
}
