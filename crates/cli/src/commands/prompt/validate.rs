//! `stave prompt validate`: a model's reply against what its prompt requires, with the validator of model steps.

use std::path::PathBuf;

use stave_canon::{Value, pretty_insertion_utf8};
use stave_llm::tokens;
use stave_prompt::output::{Accepted, OutputValidator, Rejected};

use super::Task;
use super::arguments::{Selected, Validate};
use super::asked_model::counted_model;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::governance;
use crate::terminal::{self, Terminal};

pub(super) fn validate(arguments: &Validate, terminal: Terminal) -> Result<Exit, Stop> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if is_stdin(&arguments.reply) && is_stdin(&arguments.against) {
        return Err(Stop::invalid("the reply and the prompt cannot both come from stdin")
            .help("name a file for one of them"));
    }
    let selected = Selected {
        files: vec![arguments.against.clone()],
        json: arguments.json,
        mode: None,
        project: arguments.project.clone(),
    };
    let task = Task::read(&selected, terminal)?;
    let [document] = task.documents.documents.as_slice() else {
        return Err(Stop::invalid("a reply belongs to one prompt, and there are several")
            .help("name a file with one prompt"));
    };
    let Ok(ir) = &document.prompt else {
        task.show_faults(terminal);
        return Err(Stop::invalid("the prompt cannot be read"));
    };
    let reply = files::read_text(&arguments.reply)?;
    let requirements = governance::templates(&task.project)?
        .requirements_of(ir)
        .map_err(|error| Stop::invalid(error.to_string()))?;
    let Some(requirements) = requirements else {
        if arguments.json {
            let value = Value::from_iter([("valid", Value::Bool(true)), ("requirements", Value::Null)]);
            terminal::out(&value.to_string());
        } else {
            terminal::error("valid: the prompt requires nothing of its reply");
        }
        return Ok(Exit::Fine);
    };
    let validator =
        OutputValidator::new((*requirements).clone()).map_err(|error| Stop::invalid(error.to_string()))?;
    let default = task.project.settings.default_model.as_ref();
    let model = counted_model(arguments.model.as_deref(), ir, default)?;
    let counted = tokens::count_text(&model.name, &reply);
    // An estimate is an upper bound: it cannot show that a reply is too long.
    let result = validator.validate_counted(&reply, counted.exact.then_some(counted.tokens));
    if arguments.json {
        terminal::out(&value(&validator, &result, counted.tokens).to_string());
    } else {
        tell(&result);
    }
    Ok(if result.is_ok() { Exit::Fine } else { Exit::Failed })
}

fn value(validator: &OutputValidator, result: &Result<Accepted, Rejected>, tokens: u64) -> Value {
    let (accepted, rejected) = (result.as_ref().ok(), result.as_ref().err());
    let repairs = accepted.map(|one| one.repairs.iter().map(|repair| repair.word()).collect::<Vec<_>>());
    let problems = rejected.iter().flat_map(|rejected| &rejected.problems).map(|problem| {
        Value::from_iter([("pointer", problem.pointer.as_str()), ("message", problem.message.as_str())])
    });
    Value::from_iter([
        ("valid", Value::Bool(result.is_ok())),
        ("value", accepted.map(|accepted| accepted.value.clone()).into()),
        ("repairs", repairs.unwrap_or_default().into()),
        ("error_reply", rejected.is_some_and(|rejected| rejected.is_error_reply).into()),
        ("problems", Value::Array(problems.collect())),
        ("tokens", tokens.into()),
        ("requirements", validator.requirements().to_value()),
    ])
}

/// The accepted answer on stdout, or all problems on stderr.
fn tell(result: &Result<Accepted, Rejected>) {
    match result {
        Ok(accepted) => {
            let text = accepted.value.as_str().map(str::to_owned);
            terminal::out(&text.unwrap_or_else(|| pretty_insertion_utf8(&accepted.value)));
            let repairs: Vec<&str> = accepted.repairs.iter().map(|repair| repair.word()).collect();
            if repairs.is_empty() {
                terminal::error("valid");
            } else {
                terminal::error(&format!("valid after repairs: {}", repairs.join(", ")));
            }
        }
        Err(rejected) => {
            rejected.problems.iter().for_each(|problem| terminal::error(&problem.to_string()));
            terminal::error("the reply does not satisfy the output requirements");
        }
    }
}
