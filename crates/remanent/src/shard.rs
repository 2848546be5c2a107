//! `--shard`: a share of a run, for several processes in one run directory.

use clap::Args;
use remanent_store::{Shard, Share, Shared};

use crate::output::{self, Outcome};
use crate::submit::slurm;

/// Arguments of commands whose cells can be shared out.
#[derive(Clone, Debug, Args)]
pub struct ShardArguments {
    /// Compute share I of N only, e.g. 3/8; any number of processes may share a run directory
    ///
    /// When its own cells are done, a shard takes cells that nobody has begun and those of
    /// processes that died. The same command without --shard prints the summary.
    #[arg(long, value_name = "I/N", help_heading = "Cluster")]
    pub shard: Option<Shard>,
    /// Compute no cells of other shards, e.g. where the machines share no file system
    #[arg(long, requires = "shard", help_heading = "Cluster")]
    no_steal: bool,
}

impl ShardArguments {
    /// Refuses what makes no sense with a shard.
    pub fn check(&self, fresh: bool) -> anyhow::Result<()> {
        output::usage(self.shard.is_none() || !fresh, || {
            "--fresh cannot be used with --shard, because shards share the run directory; run the \
             command once with --fresh --dry-run, or choose another --out"
                .into()
        })?;
        Ok(())
    }

    /// Runs `compute` if a share is asked for, and says what it came to. `compute` gives one result for
    /// each run directory.
    pub fn run(
        &self,
        shown: &str,
        quiet: bool,
        compute: impl FnOnce(&Share<'_>) -> anyhow::Result<Vec<Shared>>,
    ) -> anyhow::Result<Option<Outcome>> {
        let Some(shard) = self.shard else { return Ok(None) };
        let job = slurm::job().map_or(String::new(), |job| format!(", {job}"));
        let about = format!("shard {shard}{job}");
        let all = compute(&Share { shard, steals: !self.no_steal, about: &about })?;
        let sum = |of: fn(&Shared) -> usize| all.iter().map(of).sum::<usize>();
        let (done, total) = (sum(|s| s.done), sum(|s| s.total));
        let text = format!(
            "shard {shard}: {} cells computed, {} of them of other shards; {done} of {total} cells \
             of the run are done",
            sum(|s| s.computed),
            sum(|s| s.stolen),
        );
        output::remark(quiet, &text);
        let failed: Vec<_> = all.iter().flat_map(|shared| &shared.failed).collect();
        if let Some(first) = failed.first() {
            output::say(&format!(
                "error: {} cells have failed, the first because: {}; remanent status {shown} lists \
                 them, remanent retry {shown} tries them again",
                failed.len(),
                first.reason
            ));
            return Ok(Some(Outcome::Incomplete));
        }
        if done == total {
            output::remark(
                quiet,
                "all cells are done: repeat the command without --shard to see the results",
            );
        }
        Ok(Some(Outcome::Done))
    }
}
