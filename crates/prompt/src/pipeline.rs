//! The pipeline: governance, then plugins, then governance again, with a record of everything.
//!
//! A plugin that fails is noted and skipped, or the prompt is refused, as its user decided. A plugin whose result violates a denying policy stops the
//! run, because a prompt that was approved must not be changed into one that would not have been.
//!
//! Invariant: an approved [`PipelineResult`] carries a prompt that the policies approve, and a denied one
//! carries the prompt as it came in. The log never grows past its capacity, and denied runs are in it.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stave_canon::{Clock, Ids, Timestamp, Value};

use crate::compile::CompiledPrompt;
use crate::governance::{CheckEntry, PolicySet, RECENT_CHECKS, Report, Verdict, Violation};
use crate::hash::Hasher;
use crate::plugins::{
    ConfiguredPlugin, IrTransformation, OnPluginFailure, Plugin, PluginChange, PluginError,
};
use crate::resolve::{ReferenceSource, Resolution, resolve};
use crate::{CreatedAt, PromptIr};

/// How many runs the log keeps unless told otherwise.
const DEFAULT_LOG_CAPACITY: usize = 256;

/// Governance and plugins, ready to process prompts. It may be shared between threads.
#[derive(Debug)]
pub struct Pipeline {
    governance: Option<PolicySet>,
    plugins: Vec<Registered>,
    log_capacity: usize,
    log: Mutex<Log>,
}

/// A plugin with its name, which every record of it carries.
#[derive(Debug)]
struct Registered {
    name: Arc<str>,
    configured: ConfiguredPlugin,
}

/// What came of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineResult {
    /// The transformed prompt, or the prompt as it came in when it was denied.
    pub ir: Arc<PromptIr>,
    pub approved: bool,
    /// Every violation met, those that only flag included.
    pub violations: Arc<[Violation]>,
    /// Where the prompt was denied.
    pub denied_at: Option<Stage>,
    pub transformations: Arc<[IrTransformation]>,
    /// Plugins that could not do their work and were skipped.
    pub failures: Vec<PluginFailure>,
}

/// At which point of a run something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// The check of the prompt as it came in.
    Governance,
    /// The check of what the named plugin made of it.
    Plugin(Arc<str>),
    /// The named plugin failed, and its user wants no prompt without it.
    PluginFailure(Arc<str>),
    /// The check of what its references resolved to.
    Resolution,
    /// The check of the text that would be sent.
    Compiled,
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
    pub transformations: Arc<[IrTransformation]>,
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
    /// The latest runs, oldest first: as many as the log keeps, and at least those that a report shows.
    entries: VecDeque<Entry>,
    approved: u64,
    denied: u64,
    transformations: u64,
}

/// One run as it is kept; sentences are made when somebody reads them.
#[derive(Debug)]
struct Entry {
    timestamp: CreatedAt,
    ir_id_before: String,
    ir_id_after: String,
    role: String,
    transformations: Arc<[IrTransformation]>,
    failures: Vec<PluginFailure>,
    approved: bool,
    violations: Arc<[Violation]>,
}

/// The clock of one run: the time of day is asked once and then follows the steady clock, which is the one
/// that plugins are measured by.
struct RunClock<'c> {
    clock: &'c dyn Clock,
    began: Timestamp,
    began_after: Duration,
    /// How long the run had taken when it was asked last.
    elapsed: Duration,
}

impl<'c> RunClock<'c> {
    fn start(clock: &'c dyn Clock) -> Self {
        RunClock { clock, began: clock.now(), began_after: clock.elapsed(), elapsed: Duration::ZERO }
    }

    /// How much time has passed since this was asked last.
    fn lap(&mut self) -> Duration {
        let before =
            std::mem::replace(&mut self.elapsed, self.clock.elapsed().saturating_sub(self.began_after));
        self.elapsed.saturating_sub(before)
    }

    /// The time of day when a lap was asked for last.
    fn now(&self) -> CreatedAt {
        CreatedAt::from_timestamp(self.began.checked_add(self.elapsed).unwrap_or(self.began))
    }
}

impl Pipeline {
    /// A pipeline with the given policies; `None` approves everything.
    #[must_use]
    pub fn new(governance: Option<PolicySet>) -> Self {
        Pipeline {
            governance,
            plugins: Vec::new(),
            log_capacity: DEFAULT_LOG_CAPACITY,
            log: Mutex::default(),
        }
    }

    /// Adds a plugin behind those that were added before.
    #[must_use]
    pub fn with_plugin(self, plugin: Box<dyn Plugin>) -> Self {
        self.with_plugins([Arc::from(plugin)])
    }

    /// Adds plugins that other pipelines use too, behind those that were added before.
    #[must_use]
    pub fn with_plugins(self, plugins: impl IntoIterator<Item = Arc<dyn Plugin>>) -> Self {
        self.with_configured(plugins.into_iter().map(ConfiguredPlugin::new))
    }

    /// The same with what their user decided about them.
    #[must_use]
    pub fn with_configured(mut self, plugins: impl IntoIterator<Item = ConfiguredPlugin>) -> Self {
        let register =
            |configured: ConfiguredPlugin| Registered { name: configured.plugin.name().into(), configured };
        self.plugins.extend(plugins.into_iter().map(register));
        self
    }

    /// Keeps at most this many runs in the log.
    #[must_use]
    pub fn with_log_capacity(mut self, capacity: usize) -> Self {
        self.log_capacity = capacity;
        self
    }

    /// Takes one prompt through governance and the plugins.
    pub fn process(&self, ir: &PromptIr, ids: &dyn Ids, clock: &dyn Clock) -> PipelineResult {
        self.process_shared(&Arc::new(ir.clone()), ids, clock)
    }

    /// The same for a prompt that the caller gives away or shares, which saves a copy.
    pub fn process_shared(&self, ir: &Arc<PromptIr>, ids: &dyn Ids, clock: &dyn Clock) -> PipelineResult {
        let mut clock = RunClock::start(clock);
        let outcome = self.run(Arc::clone(ir), ids, &mut clock);
        self.record(ir, &outcome, clock.now());
        outcome
    }

    /// Resolves the references of a processed prompt and judges the results. The verdict is approval
    /// without governance.
    #[must_use]
    pub fn resolve(&self, ir: &PromptIr, source: &dyn ReferenceSource) -> (Resolution, Verdict) {
        let resolution = resolve(ir, source);
        let verdict = match &self.governance {
            Some(policies) => policies.check_content(&resolution.contents()),
            None => Verdict::default(),
        };
        (resolution, verdict)
    }

    /// Judges a compiled prompt. The verdict is approval without governance.
    #[must_use]
    pub fn judge(&self, compiled: &CompiledPrompt) -> Verdict {
        self.governance.as_ref().map(|policies| policies.check_compiled(compiled)).unwrap_or_default()
    }

    /// The kept runs, oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<LogEntry> {
        let log = self.locked();
        let skipped = log.entries.len().saturating_sub(self.log_capacity);
        log.entries.iter().skip(skipped).map(LogEntry::from).collect()
    }

    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let log = self.locked();
        let total_runs = log.approved + log.denied;
        let average_transformations =
            if total_runs == 0 { 0.0 } else { log.transformations as f64 / total_runs as f64 };
        Statistics { total_runs, total_transformations: log.transformations, average_transformations }
    }

    /// The governance figures: one check for each run that was judged.
    #[must_use]
    pub fn report(&self) -> Report {
        if self.governance.is_none() {
            return Report::new(0, 0, Vec::new());
        }
        let log = self.locked();
        let violated = log.entries.iter().filter(|entry| !entry.approved || !entry.violations.is_empty());
        let skipped = violated.clone().count().saturating_sub(RECENT_CHECKS);
        let recent = violated.skip(skipped).map(CheckEntry::from).collect();
        Report::new(log.approved, log.denied, recent)
    }

    fn run(&self, original: Arc<PromptIr>, ids: &dyn Ids, clock: &mut RunClock<'_>) -> PipelineResult {
        let mut run = Run::new(Arc::clone(&original));
        if let Some(policies) = &self.governance {
            let verdict = policies.check(&run.ir);
            let approved = verdict.approved();
            run.violations = verdict.violations;
            if !approved {
                return run.ended(original, Some(Stage::Governance));
            }
        }
        for Registered { name, configured } in &self.plugins {
            let mut change = match transform(configured, &run.ir, ids, clock) {
                Ok(Some(change)) => change,
                Ok(None) => continue,
                Err(PluginError(message)) => {
                    run.failures.push(PluginFailure { plugin: name.to_string(), message });
                    match configured.on_failure {
                        OnPluginFailure::Continue => continue,
                        OnPluginFailure::Refuse => {
                            return run.ended(original, Some(Stage::PluginFailure(Arc::clone(name))));
                        }
                    }
                }
            };
            // A plugin that forgot to, or a short id drawn twice, must not give two stages one name.
            if change.ir.ir_id == run.ir.ir_id {
                change.ir.ir_id = ids.short();
            }
            let before = run.record(change, Arc::clone(name), clock.now());
            if let Some(policies) = &self.governance {
                let verdict = policies.check_change(&before, &run.ir);
                let approved = verdict.approved();
                run.note(verdict);
                if !approved {
                    return run.ended(original, Some(Stage::Plugin(Arc::clone(name))));
                }
            }
        }
        let ir = Arc::clone(&run.ir);
        run.ended(ir, None)
    }

    fn record(&self, before: &PromptIr, outcome: &PipelineResult, timestamp: CreatedAt) {
        let mut log = self.locked();
        *(if outcome.approved { &mut log.approved } else { &mut log.denied }) += 1;
        log.transformations += outcome.transformations.len() as u64;
        // The texts of the oldest entry are used again, so that a full log allocates nothing for them.
        let is_full = log.entries.len() >= self.log_capacity.max(RECENT_CHECKS);
        let mut texts = <[String; 3]>::default();
        if is_full && let Some(oldest) = log.entries.pop_front() {
            texts = [oldest.ir_id_before, oldest.ir_id_after, oldest.role];
        }
        let [ir_id_before, ir_id_after, role] = &mut texts;
        for (kept, text) in
            [(ir_id_before, &before.ir_id), (ir_id_after, &outcome.ir.ir_id), (role, &outcome.ir.role)]
        {
            kept.clear();
            kept.push_str(text);
        }
        let [ir_id_before, ir_id_after, role] = texts;
        log.entries.push_back(Entry {
            timestamp,
            ir_id_before,
            ir_id_after,
            role,
            transformations: Arc::clone(&outcome.transformations),
            failures: outcome.failures.clone(),
            approved: outcome.approved,
            violations: Arc::clone(&outcome.violations),
        });
    }

    /// The log is only counters and a queue, each change of which is complete, so that it can still be
    /// used after a panic elsewhere.
    fn locked(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs one plugin. One that panics or takes too long has failed, and what it made is left out.
fn transform(
    configured: &ConfiguredPlugin,
    ir: &PromptIr,
    ids: &dyn Ids,
    clock: &mut RunClock<'_>,
) -> Result<Option<PluginChange>, PluginError> {
    let ConfiguredPlugin { plugin, timeout, .. } = configured;
    let result = catch_unwind(AssertUnwindSafe(|| plugin.transform(ir, ids)));
    // What governance takes between two plugins is little beside what a plugin may take.
    let took = clock.lap();
    if took > *timeout && !plugin.bounds_its_time() {
        let limit = timeout.as_millis();
        let message = format!("it took {} ms, more than the {limit} ms it may", took.as_millis());
        return Err(PluginError(message));
    }
    result.unwrap_or_else(|_| Err(PluginError("it panicked".to_owned())))
}

/// A run under way.
struct Run {
    ir: Arc<PromptIr>,
    violations: Vec<Violation>,
    transformations: Vec<IrTransformation>,
    failures: Vec<PluginFailure>,
    hasher: Hasher,
}

impl Run {
    fn new(ir: Arc<PromptIr>) -> Self {
        Run {
            ir,
            violations: Vec::new(),
            transformations: Vec::new(),
            failures: Vec::new(),
            hasher: Hasher::default(),
        }
    }

    /// Takes a change over and records it. Gives the prompt before it.
    fn record(&mut self, change: PluginChange, applied_by: Arc<str>, timestamp: CreatedAt) -> Arc<PromptIr> {
        let PluginChange { ir, transformation_type, description } = change;
        let before_hash = match self.transformations.last() {
            Some(last) => last.after_hash,
            None => self.hasher.first(&self.ir),
        };
        let after_hash = self.hasher.next(&self.ir, &ir);
        let record = IrTransformation {
            transformation_type,
            description,
            before_hash,
            after_hash,
            applied_by,
            timestamp,
        };
        self.transformations.push(record);
        std::mem::replace(&mut self.ir, Arc::new(ir))
    }

    /// Notes the violations that were not noted before.
    fn note(&mut self, verdict: Verdict) {
        if self.violations.is_empty() || verdict.violations.is_empty() {
            self.violations.extend(verdict.violations);
            return;
        }
        let known: HashSet<&Violation> = self.violations.iter().collect();
        let found: Vec<Violation> =
            verdict.violations.into_iter().filter(|violation| !known.contains(violation)).collect();
        self.violations.extend(found);
    }

    fn ended(self, ir: Arc<PromptIr>, denied_at: Option<Stage>) -> PipelineResult {
        PipelineResult {
            ir,
            approved: denied_at.is_none(),
            violations: shared(self.violations),
            denied_at,
            transformations: shared(self.transformations),
            failures: self.failures,
        }
    }
}

/// A list that outcome and log share. Most lists are empty, and those are all the same one.
fn shared<T>(list: Vec<T>) -> Arc<[T]> {
    if list.is_empty() { Arc::default() } else { list.into() }
}

impl From<&Entry> for LogEntry {
    fn from(entry: &Entry) -> Self {
        LogEntry {
            timestamp: entry.timestamp,
            ir_id_before: entry.ir_id_before.clone(),
            ir_id_after: entry.ir_id_after.clone(),
            transformations: Arc::clone(&entry.transformations),
            failures: entry.failures.clone(),
            approved: entry.approved,
            violations: entry.violations.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<&Entry> for CheckEntry {
    fn from(entry: &Entry) -> Self {
        CheckEntry {
            timestamp: entry.timestamp,
            ir_id: entry.ir_id_before.clone(),
            role: entry.role.clone(),
            violations: entry.violations.iter().map(ToString::to_string).collect(),
            approved: entry.approved,
        }
    }
}

impl PipelineResult {
    /// Takes over what a later stage was judged: its violations are added, and a denial gives the prompt
    /// back as it came in.
    #[must_use]
    pub fn judged(self, verdict: Verdict, stage: Stage, original: &Arc<PromptIr>) -> PipelineResult {
        let approved = verdict.approved();
        let violations = self.violations.iter().cloned().chain(verdict.violations).collect();
        if approved {
            return PipelineResult { violations, ..self };
        }
        PipelineResult { ir: Arc::clone(original), approved, violations, denied_at: Some(stage), ..self }
    }

    /// Why the prompt was refused because a plugin failed; `None` when that is not the reason.
    #[must_use]
    pub fn plugin_refusal(&self) -> Option<String> {
        let Some(Stage::PluginFailure(name)) = &self.denied_at else { return None };
        let message = self.failures.last().map_or("it failed", |failure| failure.message.as_str());
        Some(format!("the plugin {name} failed, and no prompt goes out without it: {message}"))
    }

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
