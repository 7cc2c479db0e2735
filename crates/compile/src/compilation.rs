//! Sources to exec documents: checked, lowered, validated, before anything is written.
//!
//! Invariant: the result depends on the sources, the projects' settings and the time that is passed in;
//! not on the order of the arguments, the folder, the number of threads or what the cache holds.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use stave_canon::Value;
use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, Sources, Span};
use stave_exec::{Acceptance, Document, manifest};
use stave_flow::model::Flow;
use stave_project::Project;
use stave_project::exit::Stop;
use stave_project::source_kind::SourceKind;

use super::cache::{Cache, Key};
use super::sources::SourceFile;
use super::{flow_source, workflow_source};

/// The time in a document's text until its own is known.
pub(super) const NO_TIME: &str = "1970-01-01T00:00:00Z";

/// Every flow of one invocation, in the order of its sources.
#[derive(Debug)]
pub(crate) struct Compilation {
    pub(crate) flows: Vec<CompiledFlow>,
    pub(crate) sources: Arc<Sources>,
    /// RFC 3339, UTC: the one time of this invocation.
    pub(crate) generated_at: String,
    /// Whether the time was asked for, and so replaces the one in a file that is there.
    pub(crate) is_time_fixed: bool,
}

/// One flow, lowered to the exec line.
#[derive(Debug)]
pub(crate) struct CompiledFlow {
    /// The name that its files have.
    pub(crate) file_name: String,
    pub(crate) entry: manifest::ManifestEntry,
    /// What starts it, from a workflow's `triggers`.
    pub(crate) triggers: Vec<Value>,
    pub(crate) project: Arc<Project>,
    pub(crate) source: Arc<SourceFile>,
    pub(super) text: String,
    pub(super) document: OnceLock<Document>,
    pub(super) flow: OnceLock<Option<Flow>>,
    pub(super) key: Key,
}

/// The result of one source.
pub(super) struct Lowered {
    pub(super) document: Document,
    pub(super) triggers: Vec<Value>,
    pub(super) flow: Option<Flow>,
}

impl CompiledFlow {
    /// The exec document, with no time of its own yet.
    pub(crate) fn document(&self) -> Result<&Document, Stop> {
        if let Some(document) = self.document.get() {
            return Ok(document);
        }
        let value = stave_canon::parse(&self.text).map_err(|error| Stop::internal(error.to_string()))?;
        let document = stave_exec::read(&value, Acceptance::Exact).map_err(|_| {
            Stop::internal(format!("the document of `{}` does not read back", self.entry.name))
        })?;
        Ok(self.document.get_or_init(|| document))
    }

    /// The flow as its author wrote it; `None` for a workflow. Sources that came from the cache are read
    /// again here, so an emitter that does not ask does not pay.
    pub(crate) fn flow(&self) -> Option<&Flow> {
        self.flow.get_or_init(|| flow_source::parse(&self.source)).as_ref()
    }

    /// The document's text with the time `generated_at`.
    pub(crate) fn text_at(&self, generated_at: &str) -> String {
        match stave_canon::locate(&self.text, "/metadata/generated_at") {
            Some(range) => {
                let mut text = self.text.clone();
                text.replace_range(range, &Value::from(generated_at).to_string());
                text
            }
            None => self.text.clone(),
        }
    }
}

/// Compiles all sources. Diagnostics come in the order of the sources; flows are complete only when none of
/// them is an error.
pub(super) fn compile(
    files: Vec<SourceFile>,
    sources: &Sources,
    cache: &Cache,
    strict: bool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(Vec<CompiledFlow>, Vec<Diagnostic>), Stop> {
    let files: Vec<Arc<SourceFile>> = files.into_iter().map(Arc::new).collect();
    let policies = workflow_source::Policies::read(&files);
    let settings = flow_source::Settings::of(&files)?;
    let jobs: Vec<&Arc<SourceFile>> = files.iter().filter(|file| file.kind != SourceKind::Policy).collect();
    let work = |file: &&Arc<SourceFile>| -> (Option<CompiledFlow>, Vec<Diagnostic>) {
        let key = match file.kind {
            SourceKind::Flow => settings.key(file, strict),
            _ => policies.key(file),
        };
        if let Some(flow) = cache.get(&key, file) {
            return (Some(flow), Vec::new());
        }
        let (lowered, mut diagnostics) = match file.kind {
            SourceKind::Flow => flow_source::lower(file, sources, &settings, strict),
            _ => policies.lower(file),
        };
        let flow = lowered.and_then(|lowered| finish(file, lowered, key, &mut diagnostics));
        (flow, diagnostics)
    };
    let mut flows = Vec::with_capacity(jobs.len());
    let mut diagnostics = policies.diagnostics.clone();
    for (flow, mut found) in in_parallel(&jobs, &work, progress) {
        if found.is_empty() {
            cache.put(flow.as_ref());
        }
        flows.extend(flow);
        diagnostics.append(&mut found);
    }
    diagnostics.extend(shared_names(&flows));
    Ok((flows, diagnostics))
}

/// Validates a document against the eight rules and keeps it as text.
fn finish(
    file: &Arc<SourceFile>,
    lowered: Lowered,
    key: Key,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<CompiledFlow> {
    let Lowered { document, triggers, flow } = lowered;
    let value = stave_exec::to_value(&document);
    if let Err(faults) = stave_exec::read(&value, Acceptance::Exact) {
        for fault in faults {
            let message =
                format!("the exec document would be invalid at {}: {}", fault.pointer, fault.message);
            diagnostics.push(Diagnostic::new(fault.code, Span::at(file.id, 0), message));
        }
        return None;
    }
    Some(CompiledFlow {
        file_name: manifest::file_name(&document.flow.name),
        entry: manifest::ManifestEntry::of(&document, ""),
        triggers,
        project: Arc::clone(&file.project),
        source: Arc::clone(file),
        text: stave_canon::pretty_insertion_ascii(&value),
        document: OnceLock::from(document),
        flow: flow.map_or_else(OnceLock::new, |flow| OnceLock::from(Some(flow))),
        key,
    })
}

/// Two sources may not have one output. Names that differ in case only are one file on some systems.
fn shared_names(flows: &[CompiledFlow]) -> Vec<Diagnostic> {
    let mut first: HashMap<String, &CompiledFlow> = HashMap::new();
    let mut diagnostics = Vec::new();
    for flow in flows {
        let Some(earlier) = first.get(&flow.file_name.to_lowercase()) else {
            first.insert(flow.file_name.to_lowercase(), flow);
            continue;
        };
        let message = format!("{} is named `{}` too", earlier.source.name, earlier.entry.name);
        let diagnostic = Diagnostic::new(codes::SHARED_FLOW_NAME, Span::at(flow.source.id, 0), message);
        diagnostics.push(
            diagnostic.help("give one of the two another name, or compile them into different folders"),
        );
    }
    diagnostics
}

/// Runs `work` over `items` on a few threads; the results are in the order of the items.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: &(dyn Fn(&T) -> R + Sync),
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8).min(items.len() / 8 + 1);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let worker = || {
        let mut results = Vec::new();
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            results.push((index, work(item)));
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
        }
        results
    };
    if threads == 1 {
        return worker().into_iter().map(|(_, result)| result).collect();
    }
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let joined = handles.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.flat_map(|results| results.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
