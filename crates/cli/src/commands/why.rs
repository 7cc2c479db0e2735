//! `stave why`: from a run back to the lines of the flow it came from.

use std::path::{Path, PathBuf};

use stave_canon::{Object, Value};
use stave_diag::render::visible;
use stave_exec::dataflow::{EdgeData, Origin};
use stave_runtime::journal::StoredRun;
use stave_runtime::{NodeReport, Signal, Status};

use crate::archive::Archive;
use crate::args::Place;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::runnable::SOURCE_HASH;
use crate::terminal::{self, Terminal};

/// Follows a run back to the lines of the flow it came from.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave why run_4f2a              the nodes that did not end well
  stave why run_4f2a answer       one node: its line, its status, and what each edge brought")]
pub(crate) struct Why {
    /// The run's id, or the beginning of it
    run: String,
    /// The node to ask about; every node that is not ok when absent
    node: Option<String>,
    /// Show restricted values too, instead of hiding them
    #[arg(long)]
    show_restricted: bool,
    #[command(flatten)]
    place: Place,
}

impl Why {
    pub(crate) fn is_json(&self) -> bool {
        self.place.json
    }
}

pub(crate) fn why(arguments: &Why, terminal: Terminal) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let archive = Archive::existing_to_read(&arguments.place.runs())?;
    let run = runtime.block_on(archive.run(&arguments.run))?;
    let run = if arguments.show_restricted { run } else { run.redacted() };
    let source = Source::of(&run, &archive.project.root);
    let report = run.report();
    let nodes: Vec<&NodeReport> = match &arguments.node {
        Some(id) => {
            let node = report.nodes.iter().find(|node| node.id == *id);
            let known = || run.document.graph.nodes.iter().map(|node| node.id.as_str());
            vec![node.ok_or_else(|| {
                let message = format!("run {} has no node `{id}`", run.summary.id);
                match stave_diag::did_you_mean(id, known()) {
                    Some(near) => Stop::invalid(message).help(format!("did you mean `{near}`?")),
                    None => Stop::invalid(message),
                }
            })?]
        }
        None => report
            .nodes
            .iter()
            .filter(|node| node.status != Status::Ok && !node.id.starts_with('_'))
            .collect(),
    };
    let answers = nodes.into_iter().map(|node| Answer::new(&run, node));
    let answers: Vec<Answer<'_>> = answers.collect::<Result<_, _>>()?;
    if arguments.place.json {
        let nodes = answers.iter().map(|answer| answer.to_value(&source)).collect();
        let value = Value::from_iter([
            ("run_id", Value::from(run.summary.id.as_str())),
            ("status", run.summary.status.word().into()),
            ("file", source.name.as_str().into()),
            ("changed", source.changed.into()),
            ("nodes", Value::Array(nodes)),
        ]);
        terminal::out(&value.to_string());
        return Ok(Exit::Fine);
    }
    terminal::error(&format!("run {} of {}: {}", run.summary.id, run.summary.flow, run.summary.status));
    if let Some(note) = source.note() {
        terminal::error(&note);
    }
    if let (Err(failed), true) = (&report.result, answers.is_empty()) {
        terminal::out(&failed.failure.to_string());
    }
    if report.result.is_ok() && answers.is_empty() {
        terminal::error("every node is ok; name one to see what reached it");
    }
    for answer in &answers {
        terminal::out_styled(answer.text(&source, terminal).trim_end());
    }
    Ok(Exit::Fine)
}

/// The flow's file as it is.
struct Source {
    name: String,
    lines: Option<Vec<String>>,
    /// Whether it is another text than the run was made from; unknown when that was not kept.
    changed: Option<bool>,
}

impl Source {
    fn of(run: &StoredRun, root: &Path) -> Source {
        let recorded = run.document.metadata.source_file.clone();
        let hash = run.document.metadata.extra.get(SOURCE_HASH).and_then(Value::as_str);
        let is_own = |text: &str| hash.is_none_or(|hash| stave_canon::prefixed_sha256(text) == hash);
        let mut found: Vec<(PathBuf, String)> = places(&recorded, root).filter_map(read).collect();
        // Two projects may have a file of this name; the text that the run was made from decides.
        let own = found.iter().position(|(_, text)| is_own(text)).unwrap_or(0);
        let found = (own < found.len()).then(|| found.swap_remove(own));
        let name = found.as_ref().map_or(recorded, |(path, _)| files::shown(path).display().to_string());
        let text = found.map(|(_, text)| text);
        let changed = text.as_ref().zip(hash).map(|(text, hash)| stave_canon::prefixed_sha256(text) != hash);
        let lines = text.map(|text| text.lines().map(str::to_owned).collect());
        Source { name, lines, changed }
    }

    fn line(&self, origin: Origin) -> Option<&str> {
        let index = usize::try_from(origin.line).ok()?.checked_sub(1)?;
        self.lines.as_ref()?.get(index).map(String::as_str)
    }

    fn note(&self) -> Option<String> {
        match (&self.lines, self.changed) {
            (None, _) => Some(format!("{} cannot be read, so its lines are not shown", self.name)),
            (_, Some(true)) => Some(format!("{} has changed since, so its lines may be others", self.name)),
            _ => None,
        }
    }
}

/// Where the file of a run may be: as it was named, from where the server was started, or below the project. A server of
/// several projects names a file from its own folder, so the beginning of the name may be the project's own.
fn places(recorded: &str, root: &Path) -> impl Iterator<Item = PathBuf> {
    let named = PathBuf::from(recorded);
    let parts: Vec<_> = named.iter().map(std::ffi::OsStr::to_owned).collect();
    let below: Vec<PathBuf> =
        (0..parts.len()).map(|from| root.join(parts.iter().skip(from).collect::<PathBuf>())).collect();
    std::iter::once(named).chain(below)
}

fn read(path: PathBuf) -> Option<(PathBuf, String)> {
    let bytes = files::read_plain(&path, files::MAX_FILE_BYTES).ok()?;
    Some((path, String::from_utf8(bytes).ok()?))
}

/// What is known of one node.
struct Answer<'r> {
    node: &'r NodeReport,
    edges: Vec<Arrival>,
}

/// One edge into the node, and what it brought.
struct Arrival {
    from: String,
    to_port: Option<String>,
    /// Whether it leads to the node without bringing anything.
    is_transition: bool,
    origin: Option<Origin>,
    /// The value, or why there was none.
    brought: Result<Value, String>,
}

impl<'r> Answer<'r> {
    fn new(run: &StoredRun, node: &'r NodeReport) -> Result<Answer<'r>, Stop> {
        let signal = |edge: usize| {
            let signals = run.steps.iter().flat_map(|step| &step.result.signals);
            signals.filter(|(index, _)| *index == edge).map(|(_, signal)| signal).next()
        };
        let incoming = run.document.graph.edges.iter().enumerate().filter(|(_, edge)| edge.to == node.id);
        let edges = incoming.map(|(index, edge)| {
            let data = EdgeData::read(&edge.extra)
                .map_err(|faults| Stop::invalid(format!("an edge into `{}`: {faults}", node.id)))?;
            let port = data.from_port.as_deref().unwrap_or_default();
            let brought = match signal(index) {
                Some(Signal::Active(value)) => Ok(value.clone()),
                Some(Signal::Inactive(reason)) => Err(reason.clone()),
                None if edge.from == "_input" => {
                    run.request.get(port).cloned().ok_or_else(|| format!("the request has no `{port}`"))
                }
                None => Err(format!("`{}` has no result", edge.from)),
            };
            let is_transition = data.from_port.is_none();
            Ok(Arrival {
                from: if is_transition { edge.from.clone() } else { format!("{}.{port}", edge.from) },
                to_port: data.to_port,
                is_transition,
                origin: data.origin,
                brought,
            })
        });
        Ok(Answer { node, edges: edges.collect::<Result<_, Stop>>()? })
    }

    /// Where it went wrong, or where the node is.
    fn origin(&self) -> Option<Origin> {
        self.node.failure.as_ref().and_then(|failure| failure.origin).or(self.node.origin)
    }

    fn text(&self, source: &Source, terminal: Terminal) -> String {
        let (bold, plain) = match terminal.stdout {
            stave_diag::Colour::Always => ("\u{1b}[1m", "\u{1b}[0m"),
            stave_diag::Colour::Never => ("", ""),
        };
        let mut text = format!("{bold}{}{plain} {}", visible(&self.node.id), self.node.status.word());
        if self.node.reused {
            text.push_str(" (reused from the replayed run)");
        } else if self.node.cached {
            text.push_str(" (cached)");
        }
        if let Some(failure) = &self.node.failure {
            text.push_str(&visible(&format!(": {failure}")));
        } else if let Some(reason) = &self.node.reason {
            text.push_str(&visible(&format!(": {reason}")));
        }
        text.push('\n');
        text.push_str(&visible(&place(source, self.origin(), "  ")));
        for edge in &self.edges {
            let target = edge.to_port.as_deref().map_or_else(String::new, |port| format!(" to {port}"));
            let brought = match &edge.brought {
                Ok(_) if edge.is_transition => "was taken".to_owned(),
                Err(reason) if edge.is_transition => format!("was not taken: {reason}"),
                Ok(value) => format!("brought {}", shortened(&value.to_string())),
                Err(reason) => format!("brought nothing: {reason}"),
            };
            text.push_str(&visible(&format!("  {}{target} {brought}\n", edge.from)));
            text.push_str(&visible(&place(source, edge.origin, "    ")));
        }
        text
    }

    fn to_value(&self, source: &Source) -> Value {
        let mut object = Object::new();
        object.insert("node".into(), self.node.id.as_str().into());
        object.insert("status".into(), self.node.status.word().into());
        for (mark, is_set) in [("cached", self.node.cached), ("reused", self.node.reused)] {
            if is_set {
                object.insert(mark.into(), true.into());
            }
        }
        object.insert("reason".into(), self.node.reason.clone().into());
        let error = self.node.failure.as_ref();
        let error = error.map(|failure| failure.to_error_value(&self.node.id, self.node.attempts));
        object.insert("error".into(), error.unwrap_or_default());
        insert_place(&mut object, source, self.origin());
        let edges = self.edges.iter().map(|edge| {
            let mut object = Object::new();
            object.insert("from".into(), edge.from.as_str().into());
            object.insert("to_port".into(), edge.to_port.clone().into());
            match &edge.brought {
                Ok(value) => object.insert("value".into(), value.clone()),
                Err(reason) => object.insert("reason".into(), reason.as_str().into()),
            };
            insert_place(&mut object, source, edge.origin);
            Value::Object(object)
        });
        object.insert("edges".into(), Value::Array(edges.collect()));
        Value::Object(object)
    }
}

fn insert_place(object: &mut Object, source: &Source, origin: Option<Origin>) {
    object.insert("line".into(), origin.map_or(Value::Null, |origin| origin.line.into()));
    object.insert("column".into(), origin.map_or(Value::Null, |origin| origin.column.into()));
    let text = origin.and_then(|origin| source.line(origin)).map(str::to_owned);
    object.insert("source".into(), text.into());
}

fn place(source: &Source, origin: Option<Origin>, indent: &str) -> String {
    let Some(origin) = origin else { return String::new() };
    let mut text = format!("{indent}{}:{}:{}\n", source.name, origin.line, origin.column);
    if let Some(line) = source.line(origin) {
        text.push_str(&format!("{indent}  {} | {}\n", origin.line, visible(line)));
    }
    text
}

/// A value as people can read it in passing.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut letters = text.chars();
    let shown: String = letters.by_ref().take(SHOWN).collect();
    if letters.next().is_some() { format!("{shown}… ({} bytes)", text.len()) } else { shown }
}
