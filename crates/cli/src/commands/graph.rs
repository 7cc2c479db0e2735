//! `stave graph`: a flow, a workflow or an exec document as a picture.

use std::path::Path;

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources};
use stave_flow::{CheckOptions, picture};
use stave_picture::Diagram;

use crate::args::{Graph, GraphFormat};
use crate::exec_document::{self, workflow_document};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::source_kind::{SourceKind, is_exec_document};
use crate::terminal::{self, Terminal};

pub(crate) fn graph(arguments: &Graph, terminal: Terminal) -> Result<Exit, Stop> {
    let text = files::read_text(&arguments.flow)?;
    let drawn = if is_exec_document(&arguments.flow, &text) {
        let document = exec_document::load(&arguments.flow, terminal, arguments.json)?;
        document.map(|document| stave_exec::picture::diagram(&document))
    } else {
        match SourceKind::of(&arguments.flow) {
            Some(SourceKind::Workflow) => {
                let document = workflow_document(&arguments.flow, terminal, arguments.json)?;
                document.map(|document| stave_exec::picture::diagram(&document))
            }
            Some(SourceKind::Policy) => {
                let stop =
                    Stop::invalid(format!("{} is a policy, which has no graph", arguments.flow.display()));
                return Err(stop.help("draw the workflow of the same name, which applies it"));
            }
            Some(SourceKind::Flow) | None => flow_diagram(arguments, &text, terminal),
        }
    };
    let Some(diagram) = drawn else { return Ok(Exit::Invalid) };
    let (name, picture) = match arguments.format {
        GraphFormat::Svg => ("svg", stave_picture::svg(&diagram)),
        GraphFormat::Mermaid => ("mermaid", stave_picture::mermaid(&diagram)),
        GraphFormat::Dot => ("dot", stave_picture::dot(&diagram)),
    };
    match (&arguments.out, arguments.json) {
        (Some(path), json) => {
            files::write_atomic(path, &picture)?;
            if json {
                terminal::out(&answer(name, Some(path), None).to_string());
            }
        }
        (None, true) => terminal::out(&answer(name, None, Some(&picture)).to_string()),
        (None, false) => terminal::out(picture.trim_end()),
    }
    Ok(Exit::Fine)
}

/// The picture of a flow; `None` when the text is not a flow, which was reported then.
fn flow_diagram(arguments: &Graph, text: &str, terminal: Terminal) -> Option<Diagram> {
    let mut sources = Sources::new();
    let source = sources.add(arguments.flow.display().to_string(), text);
    let parsed = stave_flow::load(source, text, &CheckOptions::default());
    let Some(flow) = parsed.flow else {
        let errors: Vec<Diagnostic> = parsed.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        exec_document::report(&errors, &sources, terminal, arguments.json);
        return None;
    };
    // A flow with mistakes is drawn as far as it goes: a picture often shows what is wrong.
    let count = parsed.diagnostics.iter().filter(|found| found.is_error()).count();
    if count > 0 && !arguments.json {
        let errors = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
        terminal::error(&format!("the flow has {errors}; `stave check` shows them"));
    }
    Some(picture::diagram(&flow))
}

fn answer(format: &str, path: Option<&Path>, picture: Option<&str>) -> Value {
    Value::from_iter([
        ("format", Value::from(format)),
        ("path", path.map(|path| path.display().to_string()).into()),
        ("picture", picture.map(str::to_owned).into()),
    ])
}
