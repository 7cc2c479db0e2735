//! `stave runs export`: everything that is known of runs, for other programs.

use stave_canon::Value;
use stave_runtime::journal::{RunFilter, StoredRun, codec};

use super::arguments::Export;
use super::list::summary_value;
use super::{Archive, stop};
use crate::exit::{Exit, Stop};
use crate::{files, terminal};

/// Writes runs as one JSON object on each line.
pub(super) async fn export(arguments: &Export) -> Result<Exit, Stop> {
    let archive = Archive::existing_to_read(&arguments.place.runs())?;
    let mut ids = arguments.runs.clone();
    if arguments.all {
        let all = archive.runs.list(RunFilter::default()).await.map_err(|error| stop(&error))?;
        ids = all.into_iter().map(|run| run.id).collect();
    }
    let mut lines = String::new();
    for id in &ids {
        let run = archive.run(id).await?;
        let run = if arguments.show_restricted { run } else { run.redacted() };
        lines.push_str(&exported(&run).to_string());
        lines.push('\n');
    }
    if let Some(path) = &arguments.out {
        files::write_private(path, &lines)?;
    }
    match (&arguments.out, arguments.place.json) {
        (Some(path), true) => {
            let out = path.display().to_string();
            let members = [("runs", Value::from(ids.len())), ("out", out.into())];
            terminal::out(&Value::from_iter(members).to_string());
        }
        (Some(path), false) => terminal::error(&format!("wrote {} runs to {}", ids.len(), path.display())),
        (None, true) => {
            let runs: Vec<Value> = lines.lines().filter_map(|line| stave_canon::parse(line).ok()).collect();
            terminal::out(&Value::from_iter([("runs", runs)]).to_string());
        }
        (None, false) => terminal::out(lines.trim_end()),
    }
    Ok(Exit::Fine)
}

/// Everything that is known of a run.
fn exported(run: &StoredRun) -> Value {
    let parsed = |text: String| stave_canon::parse(&text).unwrap_or_default();
    let mut value = summary_value(&run.summary);
    let Some(members) = value.as_object_mut() else { return value };
    members.insert("document_hash".into(), run.document_hash.as_str().into());
    members.insert("document".into(), stave_exec::to_value(&run.document));
    members.insert("request".into(), run.request.clone());
    members.insert("had_auth".into(), run.had_auth.into());
    let steps = run.steps.iter().map(|step| {
        Value::from_iter([
            ("node", Value::from(step.node.as_str())),
            ("record", parsed(codec::encode_step(step))),
        ])
    });
    members.insert("steps".into(), Value::Array(steps.collect()));
    let calls = run.calls.iter().map(|call| parsed(codec::encode_call(call)));
    members.insert("calls".into(), Value::Array(calls.collect()));
    let items = run.items.iter().map(|item| parsed(codec::encode_call(item)));
    members.insert("items".into(), Value::Array(items.collect()));
    let decisions =
        run.decisions.iter().map(|(node, decision)| (node.clone(), parsed(codec::encode_decision(decision))));
    members.insert("decisions".into(), decisions.collect());
    members.insert("report".into(), run.report().to_value());
    value
}
