//! Runs that nobody drives any more are resumed: those of a process before this one, those of another process on the
//! same store that died, and those that this process gave back because it could not write to the journal.
//!
//! Invariants: every interrupted run is resumed, the oldest first, in batches, and before starts of its tenant that wait: it
//! began before they came. A project does not wait for the runs of another. A run that was in flight when its process
//! died may have taken the process down: after the first crash such suspects are resumed in small groups, the first of them
//! before the runs that had not begun, which are younger. After the second crash they are resumed one at a time and last,
//! so that a run that kills the server does not keep the others from running. Quarantined runs and runs whose request had `auth`, which
//! is never stored and not kept by this process, are left to people.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stave_canon::Timestamp;
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
        let mut suspects = Vec::new();
        let mut pages = Pages::of(archive, refused);
        while let Some(runs) = pages.next().await {
            suspects.extend(runs.into_iter().filter(|run| run.crashes > 0));
        }
        let (twice, once): (Vec<_>, Vec<_>) = suspects.into_iter().partition(|run| run.crashes > 1);
        let mut groups = once.chunks(GROUP).chain(twice.chunks(1));
        // Runs that were in flight are older than those that had not begun, so the first of them take their places first.
        let first = self.resume_group(archive, once.get(..GROUP.min(once.len())).unwrap_or_default());
        if !once.is_empty() {
            groups.next();
        }
        let others = self.resume_others(archive, refused);
        let (mut left, others) = futures_util::future::join(first, others).await;
        left.extend(others);
        for group in groups {
            if self.is_draining() {
                return left;
            }
            left.extend(self.resume_group(archive, group).await);
        }
        left
    }

    /// Resumes the runs that were not in flight when their process died, in batches.
    async fn resume_others(
        self: &Arc<Self>,
        archive: &Arc<TenantRuns>,
        refused: &HashSet<(String, String)>,
    ) -> Vec<(String, String)> {
        let mut left = Vec::new();
        let mut pages = Pages::of(archive, refused);
        while let Some(mut runs) = pages.next().await {
            if self.is_draining() {
                return left;
            }
            runs.retain(|run| run.crashes == 0);
            // They take their places in their order before any of them is read.
            let resumed = runs.iter().map(|run| self.resume_one(archive, run));
            let resumed = futures_util::future::join_all(resumed.collect::<Vec<_>>()).await;
            left.extend(unresumed(&runs, resumed).map(|run| name_of(archive, run)));
        }
        left
    }

    /// Takes places for a group of suspects at once, resumes them and watches them. Returns those that cannot be resumed
    /// here.
    fn resume_group<'r>(
        self: &'r Arc<Self>,
        archive: &'r Arc<TenantRuns>,
        group: &'r [RunSummary],
    ) -> impl Future<Output = Vec<(String, String)>> + 'r {
        let resumed = group.iter().map(|run| {
            let resuming = self.resume_one(archive, run);
            async move {
                let is_resumed = resuming.await;
                if is_resumed {
                    self.watch_suspect(archive, run).await;
                }
                is_resumed
            }
        });
        let resumed: Vec<_> = resumed.collect();
        async move {
            let resumed = futures_util::future::join_all(resumed).await;
            unresumed(group, resumed).map(|run| name_of(archive, run)).collect()
        }
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

/// The interrupted runs of a project, the oldest first, without those that are refused.
struct Pages<'r> {
    archive: &'r TenantRuns,
    refused: &'r HashSet<(String, String)>,
    after: Option<(Timestamp, String)>,
}

impl<'r> Pages<'r> {
    fn of(archive: &'r TenantRuns, refused: &'r HashSet<(String, String)>) -> Pages<'r> {
        Pages { archive, refused, after: None }
    }

    /// The next runs; `None` after the last, or when they cannot be read.
    async fn next(&mut self) -> Option<Vec<RunSummary>> {
        let filter = RunFilter {
            status: Some(RunStatus::Interrupted),
            limit: Some(BATCH),
            oldest_first: true,
            after: self.after.take(),
            ..RunFilter::default()
        };
        let mut runs = self.archive.runs.list(filter).await.ok()?;
        let last = runs.last()?;
        self.after = Some((last.started_at, last.id.clone()));
        runs.retain(|run| !self.refused.contains(&name_of(self.archive, run)));
        Some(runs)
    }
}

fn name_of(archive: &TenantRuns, run: &RunSummary) -> (String, String) {
    (archive.tenant.clone(), run.id.clone())
}

/// The runs that were not resumed.
fn unresumed(runs: &[RunSummary], resumed: Vec<bool>) -> impl Iterator<Item = &RunSummary> {
    runs.iter().zip(resumed).filter(|(_, is_resumed)| !is_resumed).map(|(run, _)| run)
}
