//! `stave prompt compile`: the text that a model would be asked, within its budget.

use std::sync::Arc;

use stave_canon::Value;
use stave_llm::tokens;
use stave_prompt::compile::{CompileError, CompiledPrompt, Compiler, TokenCounter};
use stave_prompt::governance::Violation;
use stave_prompt::resolve::ReferenceSource;
use stave_prompt::{Pipeline, PipelineResult, PromptIr, Stage};

use super::arguments::Compile;
use super::asked_model::counted_model;
use super::{Answer, Task, invalid, print, process};
use crate::context::ProjectContext;
use crate::exit::{Exit, Stop};
use crate::governance;
use crate::ports::{RandomIds, SystemClock};
use crate::terminal::{self, Terminal};

pub(super) fn compile(arguments: &Compile, terminal: Terminal) -> Result<Exit, Stop> {
    let selected = &arguments.selected;
    let task = Task::read(selected, terminal)?;
    let pipeline = task.pipeline()?;
    let compiler = Compiler { templates: governance::templates(&task.project)? };
    let source = ProjectContext::new(&task.project.root)?;
    if !selected.json {
        task.show_faults(terminal);
    }
    let mut answers = Vec::new();
    for document in &task.documents.documents {
        let Ok(ir) = &document.prompt else {
            answers.extend(invalid(&task, document));
            continue;
        };
        let default = task.project.settings.default_model.as_ref();
        let model = counted_model(arguments.model.as_deref(), ir, default)?;
        let count = |text: &str| tokens::count_text(&model.name, text).tokens;
        let counter = TokenCounter::new(&count).ceiling(tokens::most_of(&model.name));
        let answer = match one(&pipeline, &compiler, &source, ir, &model.provider, &counter) {
            Ok(compiled) => {
                if !selected.json {
                    tell(&compiled);
                }
                let value =
                    if arguments.text { compiled.content().into() } else { compiled.to_value(&counter) };
                Answer { value, exit: Exit::Fine }
            }
            Err(answer) => *answer,
        };
        answers.push(answer);
    }
    if !arguments.text {
        return Ok(print(answers, selected.json));
    }
    let exit = answers.iter().map(|answer| answer.exit).max().unwrap_or(Exit::Fine);
    answers.iter().filter_map(|answer| answer.value.as_str()).for_each(terminal::out);
    Ok(exit)
}

/// One prompt from governance to text, or the answer that says why not.
fn one(
    pipeline: &Pipeline,
    compiler: &Compiler,
    source: &dyn ReferenceSource,
    ir: &Arc<PromptIr>,
    provider: &str,
    counter: &TokenCounter<'_>,
) -> Result<CompiledPrompt, Box<Answer>> {
    let mut outcome = pipeline.process_shared(ir, &RandomIds, &SystemClock);
    if outcome.approved {
        let (resolution, verdict) = pipeline.resolve(&outcome.ir, source);
        outcome = outcome.judged(verdict, Stage::Resolution, ir);
        if outcome.approved {
            let compiled = compiler.compile_for(provider, &outcome.ir, resolution, counter);
            let compiled = compiled.map_err(|error| {
                show(&outcome.violations);
                terminal::error(&format!("error: {error}"));
                Box::new(failed(&outcome, &error))
            })?;
            outcome = outcome.judged(pipeline.judge(&compiled), Stage::Compiled, ir);
            if outcome.approved {
                show(&outcome.violations);
                return Ok(compiled);
            }
        }
    }
    process::tell(&outcome);
    Err(Box::new(Answer { value: process::value(&outcome), exit: Exit::Refused }))
}

fn show(violations: &[Violation]) {
    violations.iter().for_each(|violation| terminal::error(&violation.to_string()));
}

fn failed(outcome: &PipelineResult, error: &CompileError) -> Answer {
    let (kind, exit) = match error {
        CompileError::OverBudget(_) => ("over_budget", Exit::Failed),
        CompileError::UnknownSchema(_) => ("unknown_schema", Exit::Invalid),
        CompileError::UnknownTemplate(_) => ("unknown_template", Exit::Invalid),
        CompileError::BadRequirements(_) => ("bad_requirements", Exit::Invalid),
    };
    let mut members = vec![("kind", Value::from(kind)), ("message", error.to_string().into())];
    if let CompileError::OverBudget(over) = error {
        members.push(("needed", over.needed.into()));
        members.push(("budget", over.budget.into()));
    }
    let value = Value::from_iter([
        ("ir_id", Value::from(outcome.ir.ir_id.as_str())),
        ("error", Value::from_iter(members)),
    ]);
    Answer { value, exit }
}

/// What did not make it into the prompt, for people.
fn tell(compiled: &CompiledPrompt) {
    for (reference, reason) in &compiled.resolution.unavailable {
        terminal::error(&format!("{reference}: {reason}"));
    }
    for cut in &compiled.cuts {
        let what = if cut.tokens_after == 0 { "left out" } else { "shortened" };
        let (before, after, reason) = (cut.tokens_before, cut.tokens_after, cut.reason.word());
        terminal::error(&format!("{}: {what} ({reason}: {before} to {after} tokens)", cut.name));
    }
}
