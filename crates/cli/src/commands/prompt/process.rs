//! `stave prompt process`: governance, plugins, governance again, with the records of all of it.

use stave_canon::Value;
use stave_prompt::governance::Violation;
use stave_prompt::plugins::IrTransformation;
use stave_prompt::{PipelineResult, Stage, to_dict};

use super::arguments::Selected;
use super::{Answer, Task, invalid, print};
use crate::exit::{Exit, Stop};
use crate::ports::{RandomIds, SystemClock};
use crate::terminal::{self, Terminal};

pub(super) fn process(selected: &Selected, terminal: Terminal) -> Result<Exit, Stop> {
    let task = Task::read(selected, terminal)?;
    let pipeline = task.pipeline()?;
    if !selected.json {
        task.show_faults(terminal);
    }
    let answers: Vec<Answer> = task
        .documents
        .documents
        .iter()
        .map(|document| match &document.prompt {
            Ok(ir) => {
                let outcome = pipeline.process(ir, &RandomIds, &SystemClock);
                if !selected.json {
                    tell(&outcome);
                }
                let exit = if outcome.approved { Exit::Fine } else { Exit::Refused };
                Answer { value: value(&outcome), exit }
            }
            Err(_) => invalid(&task, document).unwrap_or(Answer { value: Value::Null, exit: Exit::Invalid }),
        })
        .collect();
    Ok(print(answers, selected.json))
}

/// A run as an object: what the specification's `process` returns, and what explains it.
pub(super) fn value(outcome: &PipelineResult) -> Value {
    let denied_at = outcome.denied_at.as_ref().map(|stage| match stage {
        Stage::Governance => "governance".to_owned(),
        Stage::Plugin(name) => format!("plugin {name}"),
        Stage::PluginFailure(name) => format!("failure of plugin {name}"),
        Stage::Resolution => "resolution".to_owned(),
        Stage::Compiled => "compiled".to_owned(),
    });
    let failures = outcome.failures.iter().map(|failure| {
        Value::from_iter([("plugin", failure.plugin.as_str()), ("message", failure.message.as_str())])
    });
    Value::from_iter([
        ("ir", to_dict(&outcome.ir)),
        ("approved", outcome.approved.into()),
        ("violations", outcome.violation_texts().into()),
        ("denied_at", denied_at.into()),
        ("details", Value::Array(outcome.violations.iter().map(Violation::to_value).collect())),
        (
            "transformations",
            Value::Array(outcome.transformations.iter().map(IrTransformation::to_value).collect()),
        ),
        ("failures", Value::Array(failures.collect())),
    ])
}

/// What happened, for people.
pub(super) fn tell(outcome: &PipelineResult) {
    for text in outcome.violation_texts() {
        terminal::error(&text);
    }
    let refusal = outcome.plugin_refusal();
    // The last failure is the one that refuses.
    let skipped = outcome.failures.len() - usize::from(refusal.is_some()).min(outcome.failures.len());
    for failure in outcome.failures.iter().take(skipped) {
        terminal::error(&format!(
            "the plugin {} failed and was left out: {}",
            failure.plugin, failure.message
        ));
    }
    if let Some(message) = refusal {
        terminal::error(&message);
    }
    for record in outcome.transformations.iter() {
        let (before, after) = (&record.before_hash, &record.after_hash);
        terminal::error(&format!("{}: {} ({before} to {after})", record.applied_by, record.description));
    }
    terminal::error(if outcome.approved { "approved" } else { "denied" });
}
