//! The pipeline: governance, then plugins, then governance again, with a record of everything.
//!
//! A plugin that fails is skipped and noted. A plugin whose result violates a denying policy stops the
//! run, because a prompt that was approved must not be changed into one that would not have been.
//!
//! Invariant: an approved [`Outcome`] carries a prompt that the policies approve, and a denied one
//! carries the prompt as it came in. The log never grows past its capacity, and denied runs are in it.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stave_canon::{Clock, Ids, Value};

use crate::governance::{CheckLog, PolicySet, Report, Verdict, Violation};
use crate::plugins::{Change, IrTransformation, Plugin, PluginError};
use crate::resolve::{ContextSource, Resolution, resolve};
use crate::{CreatedAt, PromptIr};

/// How many runs the log keeps unless told otherwise.
const DEFAULT_LOG_CAPACITY: usize = 1000;

/// How long a plugin may take unless told otherwise.
const DEFAULT_PLUGIN_LIMIT: Duration = Duration::from_secs(5);

/// Governance and plugins, ready to process prompts. It may be shared between threads.
#[derive(Debug)]
pub struct Pipeline {
    governance: Option<PolicySet>,
    plugins: Vec<Arc<dyn Plugin>>,
    plugin_limit: Duration,
    log_capacity: usize,
    log: Mutex<Log>,
}

/// What came of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The transformed prompt, or the prompt as it came in when it was denied.
    pub ir: PromptIr,
    pub approved: bool,
    /// Every violation met, those that only flag included.
    pub violations: Vec<Violation>,
    /// Where the prompt was denied.
    pub denied_at: Option<Stage>,
    pub transformations: Vec<IrTransformation>,
    /// Plugins that could not do their work and were skipped.
    pub failures: Vec<PluginFailure>,
}

/// At which point of a run something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The check of the prompt as it came in.
    Governance,
    /// The check of what the named plugin made of it.
    Plugin(String),
    /// The check of what its references resolved to.
    Resolution,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFailure {
    pub plugin: String,
    pub message: String,
}

/// One run, as the log keeps it.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub timestamp: CreatedAt,
    pub ir_id_before: String,
    pub ir_id_after: String,
    pub transformations: Vec<IrTransformation>,
    pub failures: Vec<PluginFailure>,
    pub approved: bool,
    pub violations: Vec<String>,
}

/// Figures over all runs, those the log has let go of included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Statistics {
    pub total_runs: u64,
    pub total_transformations: u64,
    /// 0 when there was no run.
    pub average_transformations: f64,
}

#[derive(Debug, Default)]
struct Log {
    entries: VecDeque<Entry>,
    runs: u64,
    transformations: u64,
    checks: CheckLog,
}

/// One run as it is kept; sentences are made when somebody reads them.
#[derive(Debug, Clone)]
struct Entry {
    timestamp: CreatedAt,
    ir_id_before: Arc<str>,
    ir_id_after: Arc<str>,
    transformations: Vec<IrTransformation>,
    failures: Vec<PluginFailure>,
    approved: bool,
    violations: Arc<[Violation]>,
}

impl Pipeline {
    /// A pipeline with the given policies; `None` approves everything.
    #[must_use]
    pub fn new(governance: Option<PolicySet>) -> Self {
        Pipeline {
            governance,
            plugins: Vec::new(),
            plugin_limit: DEFAULT_PLUGIN_LIMIT,
            log_capacity: DEFAULT_LOG_CAPACITY,
            log: Mutex::default(),
        }
    }

    /// Adds a plugin behind those that were added before.
    #[must_use]
    pub fn with_plugin(mut self, plugin: Box<dyn Plugin>) -> Self {
        self.plugins.push(Arc::from(plugin));
        self
    }

    /// Adds plugins that other pipelines use too, behind those that were added before.
    #[must_use]
    pub fn with_plugins(mut self, plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Self {
        self.plugins.extend(plugins);
        self
    }

    /// Lets a plugin take this long. What a slower one made is left out, and the plugin is noted as failed.
    #[must_use]
    pub fn with_plugin_limit(mut self, limit: Duration) -> Self {
        self.plugin_limit = limit;
        self
    }

    /// Keeps at most this many runs in the log.
    #[must_use]
    pub fn with_log_capacity(mut self, capacity: usize) -> Self {
        self.log_capacity = capacity;
        self
    }

    /// Takes one prompt through governance and the plugins.
    pub fn process(&self, ir: &PromptIr, ids: &dyn Ids, clock: &dyn Clock) -> Outcome {
        self.process_owned(ir.clone(), ids, clock)
    }

    /// The same for a prompt that the caller gives away, which saves a copy.
    pub fn process_owned(&self, ir: PromptIr, ids: &dyn Ids, clock: &dyn Clock) -> Outcome {
        let before: Arc<str> = ir.ir_id.as_str().into();
        let outcome = self.run(ir, ids, clock);
        self.record(before, &outcome, CreatedAt::from_timestamp(clock.now()));
        outcome
    }

    /// Resolves the references of a processed prompt and judges what they came to. The verdict is approval
    /// without governance.
    #[must_use]
    pub fn resolve(&self, ir: &PromptIr, source: &dyn ContextSource) -> (Resolution, Verdict) {
        let resolution = resolve(ir, source);
        let verdict = match &self.governance {
            Some(policies) => policies.check_content(&resolution.contents()),
            None => Verdict::default(),
        };
        (resolution, verdict)
    }

    /// The kept runs, oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<LogEntry> {
        self.locked().entries.iter().cloned().map(LogEntry::from).collect()
    }

    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let log = self.locked();
        let average_transformations =
            if log.runs == 0 { 0.0 } else { log.transformations as f64 / log.runs as f64 };
        Statistics {
            total_runs: log.runs,
            total_transformations: log.transformations,
            average_transformations,
        }
    }

    /// The governance figures: one check for each run that was judged.
    #[must_use]
    pub fn report(&self) -> Report {
        self.locked().checks.report()
    }

    fn run(&self, ir: PromptIr, ids: &dyn Ids, clock: &dyn Clock) -> Outcome {
        let mut outcome = Outcome {
            ir,
            approved: true,
            violations: Vec::new(),
            denied_at: None,
            transformations: Vec::new(),
            failures: Vec::new(),
        };
        if self.denies(&outcome.ir, &mut outcome.violations) {
            return Outcome { approved: false, denied_at: Some(Stage::Governance), ..outcome };
        }
        // The prompt as it came in, once a plugin has changed it.
        let mut original: Option<PromptIr> = None;
        for plugin in &self.plugins {
            let mut change = match self.transform(plugin.as_ref(), &outcome.ir, ids, clock) {
                Ok(Some(change)) => change,
                Ok(None) => continue,
                Err(error) => {
                    let plugin = plugin.name().to_owned();
                    outcome.failures.push(PluginFailure { plugin, message: error.to_string() });
                    continue;
                }
            };
            // A plugin that forgot to, or a short id drawn twice, must not give two stages one name.
            if change.ir.ir_id == outcome.ir.ir_id {
                change.ir.ir_id = ids.short();
            }
            let timestamp = CreatedAt::from_timestamp(clock.now());
            let last = outcome.transformations.last().map(|record| record.after_hash.as_str());
            let record = IrTransformation::following(last, &outcome.ir, &change, plugin.as_ref(), timestamp);
            outcome.transformations.push(record);
            let Change { ir: changed, .. } = change;
            if self.denies(&changed, &mut outcome.violations) {
                let denied_at = Some(Stage::Plugin(plugin.name().to_owned()));
                let ir = original.unwrap_or(outcome.ir);
                return Outcome { ir, approved: false, denied_at, ..outcome };
            }
            let before = std::mem::replace(&mut outcome.ir, changed);
            original.get_or_insert(before);
        }
        outcome
    }

    /// Runs one plugin. One that panics or takes too long has failed, and what it made is left out.
    fn transform(
        &self,
        plugin: &dyn Plugin,
        ir: &PromptIr,
        ids: &dyn Ids,
        clock: &dyn Clock,
    ) -> Result<Option<Change>, PluginError> {
        let start = clock.elapsed();
        let result = catch_unwind(AssertUnwindSafe(|| plugin.transform(ir, ids)));
        let took = clock.elapsed().saturating_sub(start);
        if took > self.plugin_limit {
            let limit = self.plugin_limit.as_millis();
            return Err(PluginError(format!(
                "it took {} ms, more than the {limit} ms it may",
                took.as_millis()
            )));
        }
        result.unwrap_or_else(|_| Err(PluginError("it panicked".to_owned())))
    }

    /// Judges a prompt and notes the violations that were not noted before.
    fn denies(&self, ir: &PromptIr, violations: &mut Vec<Violation>) -> bool {
        let Some(policies) = &self.governance else {
            return false;
        };
        let verdict = policies.check(ir);
        let approved = verdict.approved();
        if violations.is_empty() {
            *violations = verdict.violations;
            return !approved;
        }
        let known: HashSet<&Violation> = violations.iter().collect();
        let found: Vec<Violation> =
            verdict.violations.into_iter().filter(|violation| !known.contains(violation)).collect();
        violations.extend(found);
        !approved
    }

    fn record(&self, before: Arc<str>, outcome: &Outcome, timestamp: CreatedAt) {
        let violations: Arc<[Violation]> = outcome.violations.as_slice().into();
        let mut log = self.locked();
        log.runs += 1;
        log.transformations += outcome.transformations.len() as u64;
        if self.governance.is_some() {
            let (before, violations) = (Arc::clone(&before), Arc::clone(&violations));
            log.checks.record(timestamp, before, &outcome.ir.role, violations, outcome.approved);
        }
        if self.log_capacity == 0 {
            return;
        }
        if log.entries.len() >= self.log_capacity {
            log.entries.pop_front();
        }
        let is_changed = *before != *outcome.ir.ir_id;
        let ir_id_after = if is_changed { outcome.ir.ir_id.as_str().into() } else { Arc::clone(&before) };
        log.entries.push_back(Entry {
            timestamp,
            ir_id_before: before,
            ir_id_after,
            transformations: outcome.transformations.clone(),
            failures: outcome.failures.clone(),
            approved: outcome.approved,
            violations,
        });
    }

    /// The log is only counters and a queue, each change of which is complete, so that it can still be
    /// used after a panic elsewhere.
    fn locked(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Entry> for LogEntry {
    fn from(entry: Entry) -> Self {
        LogEntry {
            timestamp: entry.timestamp,
            ir_id_before: entry.ir_id_before.to_string(),
            ir_id_after: entry.ir_id_after.to_string(),
            transformations: entry.transformations,
            failures: entry.failures,
            approved: entry.approved,
            violations: entry.violations.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Outcome {
    /// The violations as the specification's sentences.
    #[must_use]
    pub fn violation_texts(&self) -> Vec<String> {
        self.violations.iter().map(ToString::to_string).collect()
    }
}

impl LogEntry {
    #[must_use]
    pub fn to_value(&self) -> Value {
        let transformations = self.transformations.iter().map(IrTransformation::to_value).collect();
        let failures = self.failures.iter().map(|failure| {
            Value::from_iter([("plugin", failure.plugin.as_str()), ("message", failure.message.as_str())])
        });
        Value::from_iter([
            ("timestamp", Value::from(self.timestamp.to_string())),
            ("ir_id_before", self.ir_id_before.as_str().into()),
            ("ir_id_after", self.ir_id_after.as_str().into()),
            ("transformations", Value::Array(transformations)),
            ("failures", Value::Array(failures.collect())),
            ("approved", self.approved.into()),
            ("violations", self.violations.clone().into()),
        ])
    }
}
