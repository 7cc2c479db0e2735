//! `stave prompt report`: the governance figures over many prompts.

use stave_canon::{Value, pretty_insertion_utf8};

use super::Task;
use super::arguments::Selected;
use crate::exit::{Exit, Stop};
use crate::ports::{RandomIds, SystemClock};
use crate::terminal::{self, Terminal};

pub(super) fn report(selected: &Selected, terminal: Terminal) -> Result<Exit, Stop> {
    let task = Task::read(selected, terminal)?;
    let pipeline = task.pipeline()?;
    if !selected.json {
        task.show_faults(terminal);
    }
    let mut invalid = 0_u64;
    let mut failures = 0_u64;
    for document in &task.documents.documents {
        match &document.prompt {
            Ok(ir) => {
                failures += pipeline.process(ir, &RandomIds, &SystemClock).failures.len() as u64;
            }
            Err(_) => invalid += 1,
        }
    }
    let statistics = pipeline.statistics();
    let report = pipeline.report();
    let denied = report.denied;
    let mut value = report.to_value();
    if let Some(members) = value.as_object_mut() {
        members.insert("invalid".to_owned(), invalid.into());
        members.insert("mode".to_owned(), task.policies.mode().word().into());
        let pipeline = Value::from_iter([
            ("total_runs", Value::from(statistics.total_runs)),
            ("total_transformations", statistics.total_transformations.into()),
            ("average_transformations", statistics.average_transformations.into()),
            ("plugin_failures", failures.into()),
        ]);
        members.insert("pipeline".to_owned(), pipeline);
    }
    terminal::out(&if selected.json { value.to_string() } else { pretty_insertion_utf8(&value) });
    Ok(match (denied, invalid) {
        (0, 0) => Exit::Fine,
        (0, _) => Exit::Invalid,
        _ => Exit::Refused,
    })
}
