//! Runs that nobody drives any more are resumed: those of a process before this one, those of another process on the
//! same store that died, and those that this process gave back because it could not write to the journal.
//!
//! Invariants: every interrupted run is resumed, the oldest first, in batches, and before starts of its tenant that wait: it
//! began before they came. A project does not wait for the runs of another. A run that was in flight when its process
//! died may have taken the process down: after the first crash such suspects are resumed in small groups, after the
//! second one at a time. Quarantined runs and runs whose
//! request had `auth`, which is never stored and not kept by this process, are left to people.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stave_runtime::journal::{RunFilter, RunStatus, RunSummary};

use crate::access::Principal;
use crate::catalog::TenantRuns;
use crate::log::{RunOf, ServerEvent};
use crate::server::{Phase, Shared, reach};

/// How often runs are looked for.
const LOOK: Duration = Duration::from_secs(2);

/// How many runs are read at once.
const BATCH: usize = 100;

/// How long the next suspect waits for one that neither ends nor finishes a step.
const SUSPICION: Duration = Duration::from_secs(10);

/// How often a suspect is looked at.
const SUSPECT_LOOK: Duration = Duration::from_millis(50);

/// How many suspects of one crash are resumed together.
const GROUP: usize = 16;

impl Shared {
    /// Resumes runs until the server begins to shut down.
    pub(crate) async fn resume_interrupted(self: &Arc<Self>) {
        let mut phase = self.phase();
        // Runs that cannot be resumed here, so that they are not tried again and again.
        let mut refused = HashSet::new();
        let mut reported = HashSet::new();
        while !self.is_draining() {
            let catalog = self.catalog();
            let mut quarantined = 0;
            let anyone = Principal::anyone();
            let archives: Vec<&Arc<TenantRuns>> = catalog.archives(&anyone).collect();
            let resumed = archives.iter().map(|archive| async {
                // What cannot be written cannot be claimed either.
                if archive.runs.fault().is_none() && archive.runs.recover().await.is_ok() {
                    return self.resume_all(archive, &refused).await;
                }
                Vec::new()
            });
            let left = futures_util::future::join_all(resumed).await;
            refused.extend(left.into_iter().flatten());
            for archive in archives {
                let filter = RunFilter { status: Some(RunStatus::Quarantined), ..RunFilter::default() };
                let runs = archive.runs.list(filter).await.unwrap_or_default();
                quarantined += runs.len();
                for run in &runs {
                    self.report_quarantine(archive, run, &mut reported);
                }
            }
            self.quarantined.store(quarantined, Ordering::Relaxed);
            tokio::select! {
                () = reach(&mut phase, Phase::Draining) => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Says once that a run is quarantined, and again when it was resumed and crashed further.
    fn report_quarantine(
        &self,
        archive: &TenantRuns,
        run: &RunSummary,
        reported: &mut HashSet<(String, u32)>,
    ) {
        if reported.insert((run.id.clone(), run.crashes)) {
            let of = RunOf { id: &run.id, flow: &run.flow, tenant: &archive.tenant };
            self.options.log.event(&ServerEvent::RunQuarantined { run: of, crashes: run.crashes });
        }
    }

    /// Resumes the interrupted runs of one project, without those that are refused. Returns those that cannot be resumed
    /// here.
    async fn resume_all(
        self: &Arc<Self>,
        archive: &Arc<TenantRuns>,
        refused: &HashSet<(String, String)>,
    ) -> Vec<(String, String)> {
        let (mut suspects, mut left) = (Vec::new(), Vec::new());
        let name = |run: &RunSummary| (archive.tenant.clone(), run.id.clone());
        let mut after = None;
        loop {
            let filter = RunFilter {
                status: Some(RunStatus::Interrupted),
                limit: Some(BATCH),
                oldest_first: true,
                after: after.take(),
                ..RunFilter::default()
            };
            let Ok(runs) = archive.runs.list(filter).await else { return left };
            let Some(last) = runs.last() else { break };
            after = Some((last.started_at, last.id.clone()));
            let runs = runs.into_iter().filter(|run| !refused.contains(&name(run)));
            let (suspected, others): (Vec<_>, Vec<_>) = runs.partition(|run| run.crashes > 0);
            suspects.extend(suspected);
            if self.is_draining() {
                return left;
            }
            // They take their places in their order before any of them is read.
            let resumed = others.iter().map(|run| self.resume_one(archive, run));
            let resumed = futures_util::future::join_all(resumed.collect::<Vec<_>>()).await;
            left.extend(unresumed(&others, resumed).map(name));
        }
        let (twice, once): (Vec<_>, Vec<_>) = suspects.into_iter().partition(|run| run.crashes > 1);
        for group in once.chunks(GROUP).chain(twice.chunks(1)) {
            if self.is_draining() {
                return left;
            }
            let resumed = group.iter().map(|run| {
                let resuming = self.resume_one(archive, run);
                async {
                    let is_resumed = resuming.await;
                    if is_resumed {
                        self.watch_suspect(archive, run).await;
                    }
                    is_resumed
                }
            });
            let resumed = futures_util::future::join_all(resumed.collect::<Vec<_>>()).await;
            left.extend(unresumed(group, resumed).map(name));
        }
        left
    }

    /// Takes a place for one run at once, and resumes it when its turn has come; `false` when it cannot be resumed here.
    fn resume_one<'r>(
        self: &'r Arc<Self>,
        archive: &'r Arc<TenantRuns>,
        run: &'r RunSummary,
    ) -> impl Future<Output = bool> + 'r {
        let asked = self.turns.ask_begun(archive.tenant.clone());
        async move {
            let Ok(stored) = archive.runs.show(&run.id).await else { return true };
            let Ok(engine) = archive.engine(&stored.document) else { return false };
            let lacks_auth = stored.had_auth && archive.auth.of(&run.id).is_none();
            if lacks_auth || engine.drives_itself() {
                return false;
            }
            // Somebody else may have taken it, and a full server or journal may have room later.
            let Ok(turn) = asked.turn(self.limits().request).await else { return true };
            if !self.is_draining() {
                let _ = self.resume(turn, archive, &run.flow, engine, &run.id, None).await;
            }
            true
        }
    }

    /// Waits until a suspect has ended, waits or has finished a step, or for a while.
    async fn watch_suspect(&self, archive: &TenantRuns, run: &RunSummary) {
        let mut phase = self.phase();
        let watching = async {
            while let Ok(now) = archive.runs.show(&run.id).await {
                if !matches!(now.summary.status, RunStatus::Running | RunStatus::Queued)
                    || now.summary.steps > run.steps
                {
                    return;
                }
                tokio::time::sleep(SUSPECT_LOOK).await;
            }
        };
        tokio::select! {
            _ = tokio::time::timeout(SUSPICION, watching) => {}
            () = reach(&mut phase, Phase::Draining) => {}
        }
    }
}

/// The runs that were not resumed.
fn unresumed(runs: &[RunSummary], resumed: Vec<bool>) -> impl Iterator<Item = &RunSummary> {
    runs.iter().zip(resumed).filter(|(_, is_resumed)| !is_resumed).map(|(run, _)| run)
}
