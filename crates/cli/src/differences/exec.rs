//! `stave exec diff`: what differs between two documents, by node and edge.

use std::path::Path;

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources};
use stave_exec::diff::DocumentDiff;
use stave_exec::wdl::{self, Dialect};

use crate::args::exec::Diff;
use crate::exec_document;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

/// Ends with 1 when the documents differ, as `diff` does.
pub(crate) fn diff(arguments: &Diff, terminal: Terminal) -> Result<Exit, Stop> {
    let Some(before) = exec_document::load(&arguments.before, terminal, arguments.json)? else {
        return Ok(Exit::Invalid);
    };
    let Some(after) = exec_document::load(&arguments.after, terminal, arguments.json)? else {
        return Ok(Exit::Invalid);
    };
    Ok(show(&stave_exec::diff::diff(&before, &after), arguments.json))
}

/// The same for what two workflows compile to.
pub(crate) fn diff_workflows(arguments: &Diff, terminal: Terminal) -> Result<Exit, Stop> {
    let load = |file: &Path| exec_document::workflow_document(file, terminal, arguments.json);
    let (Some(before), Some(after)) = (load(&arguments.before)?, load(&arguments.after)?) else {
        return Ok(Exit::Invalid);
    };
    Ok(show(&stave_exec::diff::diff_workflows(&before, &after), arguments.json))
}

/// The same for two policies: pointers into what is baked of them.
pub(crate) fn diff_policies(arguments: &Diff, terminal: Terminal) -> Result<Exit, Stop> {
    let mut sources = Sources::new();
    let mut load = |file: &Path| {
        let text = files::read_text(file)?;
        let source = sources.add(file.display().to_string(), text.as_str());
        let checked = wdl::check_policy(source, &text, Dialect::Extended);
        if checked.value.is_none() {
            let errors: Vec<Diagnostic> =
                checked.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
            exec_document::report(&errors, &sources, terminal, arguments.json);
        }
        Ok::<_, Stop>(checked.value)
    };
    let (Some(before), Some(after)) = (load(&arguments.before)?, load(&arguments.after)?) else {
        return Ok(Exit::Invalid);
    };
    let other = stave_exec::diff::diff_policies(&before, &after);
    Ok(show(&DocumentDiff { other, ..DocumentDiff::default() }, arguments.json))
}

fn show(difference: &DocumentDiff, json: bool) -> Exit {
    if json {
        terminal::out(&to_value(difference).to_string());
    } else {
        print(difference);
    }
    if difference.is_empty() { Exit::Fine } else { Exit::Failed }
}

fn print(difference: &DocumentDiff) {
    if difference.is_empty() {
        terminal::error("the documents run the same");
    }
    for pointer in &difference.other {
        terminal::out(&format!("~ {pointer}"));
    }
    for (sign, what, names) in [
        ("-", "node", &difference.removed_nodes),
        ("+", "node", &difference.added_nodes),
        ("-", "edge", &difference.removed_edges),
        ("+", "edge", &difference.added_edges),
    ] {
        for name in names {
            terminal::out(&format!("{sign} {what} {name}"));
        }
    }
    for node in &difference.changed_nodes {
        terminal::out(&format!("~ node {}: {}", node.id, node.pointers.join(", ")));
    }
}

fn to_value(difference: &DocumentDiff) -> Value {
    let changed = difference.changed_nodes.iter().map(|node| {
        Value::from_iter([("id", Value::from(node.id.as_str())), ("pointers", node.pointers.clone().into())])
    });
    let nodes = Value::from_iter([
        ("added", Value::from(difference.added_nodes.clone())),
        ("removed", difference.removed_nodes.clone().into()),
        ("changed", Value::Array(changed.collect())),
    ]);
    let edges = Value::from_iter([
        ("added", difference.added_edges.clone()),
        ("removed", difference.removed_edges.clone()),
    ]);
    Value::from_iter([
        ("same", Value::from(difference.is_empty())),
        ("nodes", nodes),
        ("edges", edges),
        ("other", difference.other.clone().into()),
    ])
}
