//! `stave prompt ask`: a prompt is sent to a model, by the road that every model step of a flow takes.
//!
//! Invariant: nothing is sent while one of the documents is invalid.

use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::Document;
use stave_lower::ANSWER;
use stave_prompt::compile::Templates;
use stave_prompt::output::OutputValidator;
use stave_prompt::{PromptIr, short_hash};
use stave_runtime::{Engine, FailureKind, RunReport};

use super::arguments::Ask;
use super::asked_model::asked_model;
use super::{Answer, Task, input, invalid, print};
use crate::archive::unwritten;
use crate::exit::{Exit, Stop};
use crate::governance;
use crate::outcome::{self, exit_of};
use crate::project::Project;
use crate::prompt_document;
use crate::run_session::{self, RunSession, Watch};
use crate::table;
use crate::terminal::{self, Terminal};

/// A prompt that can be asked.
struct Question<'t> {
    ir: &'t PromptIr,
    document: Arc<Document>,
}

pub(super) fn ask(arguments: &Ask, terminal: Terminal) -> Result<Exit, Stop> {
    let task = Task::of(&arguments.files, arguments.project.as_deref(), None, terminal)?;
    if !arguments.json {
        task.show_faults(terminal);
    }
    let unreadable: Vec<Answer> =
        task.documents.documents.iter().filter_map(|document| invalid(&task, document)).collect();
    if !unreadable.is_empty() {
        if arguments.json {
            return Ok(print(unreadable, true));
        }
        return Err(Stop::invalid("nothing was asked: a prompt is invalid"));
    }
    let templates = governance::templates(&task.project)?;
    let questions: Vec<Question<'_>> = task
        .documents
        .documents
        .iter()
        .map(|document| question(arguments, &task, &templates, document))
        .collect::<Result<_, _>>()?;
    run_session::runtime()?.block_on(ask_all(arguments, &task.project, &questions, terminal))
}

fn question<'t>(
    arguments: &Ask,
    task: &Task,
    templates: &Templates,
    document: &'t input::Document,
) -> Result<Question<'t>, Stop> {
    let name = task.documents.sources.name(document.source);
    let Ok(ir) = &document.prompt else { return Err(Stop::invalid(format!("{name} is not a prompt"))) };
    let unusable =
        |error: &dyn std::fmt::Display| Stop::invalid(format!("{name}: {error}")).help("nothing was asked");
    let requirements = templates.requirements_of(ir).map_err(|error| unusable(&error))?;
    if let Some(requirements) = requirements {
        OutputValidator::new((*requirements).clone()).map_err(|error| unusable(&error))?;
    }
    let default = task.project.settings.default_model.as_ref();
    let model = asked_model(arguments.model.as_deref(), ir, default)?
        .ok_or_else(|| unusable(&"the prompt names no model").help(MODEL_HELP))?;
    if let Some(hint) = ir.model_hint.as_deref().filter(|hint| !hint.is_empty() && *hint != model.provider) {
        terminal::error(&format!("{name}: the prompt suggests `{hint}`; `{}` is asked", model.provider));
    }
    let document = prompt_document::load(&task.project, ir, &model, name)?;
    Ok(Question { ir, document: Arc::new(document) })
}

const MODEL_HELP: &str = "name one with --model, or set `[models.default]` in stave.toml";

async fn ask_all(
    arguments: &Ask,
    project: &Project,
    questions: &[Question<'_>],
    terminal: Terminal,
) -> Result<Exit, Stop> {
    let Some(first) = questions.first() else { return Ok(Exit::Fine) };
    let session = RunSession::open(project, &first.document, &arguments.flags, Watch::Nothing).await?;
    let engine = &session.engine;
    let is_single = questions.len() == 1;
    let mut answers = Vec::with_capacity(questions.len());
    let mut reports = Vec::with_capacity(questions.len());
    let mut exit = Exit::Fine;
    let empty = Value::Object(Object::new());
    for Question { ir, document } in questions {
        let run_id = engine.new_run_id();
        if !arguments.json && !arguments.flags.ephemeral {
            terminal::error(&format!("run {run_id}"));
        }
        let report = engine.start(&run_id, Arc::clone(document), &empty).await;
        let report = report.map_err(|error| unwritten(&run_id, &error))?;
        exit = exit.max(exit_of(&report));
        if !arguments.json {
            tell(&report, is_single, terminal);
        }
        if arguments.json || !is_single {
            let value = if arguments.json { value(ir, &report) } else { answer(&report) };
            answers.push(Answer { value, exit: exit_of(&report) });
        }
        let is_interrupted =
            matches!(&report.result, Err(failed) if failed.failure.kind == FailureKind::Interrupted);
        reports.push(report);
        if is_interrupted {
            break;
        }
    }
    session
        .end(&reports, questions.len(), || {
            if !answers.is_empty() {
                print(answers, arguments.json);
            }
        })
        .await?;
    Ok(exit)
}

/// What the model answered; null when it did not.
fn answer(report: &RunReport) -> Value {
    report.result.as_ref().ok().and_then(|output| output.get(ANSWER)).cloned().unwrap_or_default()
}

/// The report of the run with the answer as its output, and which prompt it is about.
fn value(ir: &PromptIr, report: &RunReport) -> Value {
    let mut members = Object::new();
    members.insert("ir_id".to_owned(), ir.ir_id.as_str().into());
    members.insert("hash".to_owned(), short_hash(ir).as_str().into());
    if let Value::Object(reported) = report.to_value() {
        members.extend(reported);
    }
    members.insert("output".to_owned(), answer(report));
    members.into()
}

/// What came of it, for people; the answer of a sole prompt as it is.
fn tell(report: &RunReport, is_single: bool, terminal: Terminal) {
    for flagged in report.nodes.iter().flat_map(|node| &node.flagged) {
        terminal::error(flagged);
    }
    if report.result.is_err() {
        return outcome::print(report, terminal);
    }
    terminal::error_styled(&table::nodes(report, report.status(), terminal.stderr));
    if is_single {
        let answer = answer(report);
        let text = answer.as_str().map(str::to_owned);
        terminal::out(&text.unwrap_or_else(|| stave_canon::pretty_insertion_utf8(&answer)));
    }
}
