//! `stave prompt`: check, process, compile, ask, hash and report Prompt IR documents, and validate replies to them.
//!
//! Results go to stdout: one prompt's as readable JSON, several prompts' one a line, and with `--json` all
//! of them in one object. What people read goes to stderr.

mod arguments;
mod ask;
mod asked_model;
mod check;
mod compile;
mod hash;
mod input;
mod process;
mod report;
mod report_kept;
mod validate;

pub(crate) use arguments::Prompt;

use std::path::{Path, PathBuf};

use stave_canon::{Value, pretty_insertion_utf8};
use stave_diag::{Sources, render};
use stave_prompt::Pipeline;
use stave_prompt::governance::{MatchMode, PolicySet};

use self::arguments::{PromptCommand, Selected};
use self::input::Documents;
use crate::exit::{Exit, Stop};
use crate::project::Project;
use crate::terminal::{self, Terminal};
use crate::{governance, prompt_plugins, services};

pub(crate) fn prompt(arguments: &Prompt, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.command {
        PromptCommand::Check(selected) => check::check(selected, terminal),
        PromptCommand::Process(selected) => process::process(selected, terminal),
        PromptCommand::Compile(arguments) => compile::compile(arguments, terminal),
        PromptCommand::Ask(arguments) => ask::ask(arguments, terminal),
        PromptCommand::Hash(selected) => hash::hash(selected, terminal),
        PromptCommand::Report(arguments) if arguments.selected.files.is_empty() => {
            report_kept::report(arguments, terminal)
        }
        PromptCommand::Report(arguments) => report::report(&arguments.selected, terminal),
        PromptCommand::Validate(arguments) => validate::validate(arguments, terminal),
    }
}

/// The prompts that were named, and the project that they belong to.
struct Task {
    documents: Documents,
    project: Project,
    policies: PolicySet,
}

impl Task {
    fn read(selected: &Selected, terminal: Terminal) -> Result<Task, Stop> {
        Task::of(&selected.files, selected.project.as_deref(), selected.mode.map(Into::into), terminal)
    }

    fn of(
        files: &[PathBuf],
        folder: Option<&Path>,
        mode: Option<MatchMode>,
        terminal: Terminal,
    ) -> Result<Task, Stop> {
        let documents = input::read(files)?;
        let folder = folder.unwrap_or(Path::new("."));
        let mut sources = Sources::new();
        let mut diagnostics = Vec::new();
        let project = Project::at(folder, &mut sources, &mut diagnostics)?;
        if diagnostics.iter().any(stave_diag::Diagnostic::is_error) {
            terminal::error_styled(
                render::terminal::render(&diagnostics, &sources, terminal.stderr).trim_end(),
            );
            return Err(Stop::invalid("the project file cannot be used"));
        }
        let policies = governance::policies(&project)?;
        let policies = governance::in_mode(policies, mode);
        Ok(Task { documents, project, policies })
    }

    /// Governance and the plugins of the project.
    fn pipeline(&self) -> Result<Pipeline, Stop> {
        let plugins = prompt_plugins::all(&self.project, &services::worker()?)?;
        Ok(Pipeline::new(Some(self.policies.clone())).with_configured(plugins))
    }

    /// Shows what is wrong with the documents that could not be read.
    fn show_faults(&self, terminal: Terminal) {
        let faults = self.documents.faults();
        if !faults.is_empty() {
            let text = render::terminal::render(&faults, &self.documents.sources, terminal.stderr);
            terminal::error_styled(text.trim_end());
        }
    }
}

/// What came of one document.
struct Answer {
    value: Value,
    exit: Exit,
}

/// The answer for a document that could not be read.
fn invalid(task: &Task, document: &input::Document) -> Option<Answer> {
    let faults = document.prompt.as_ref().err()?;
    let report =
        stave_canon::parse(&render::json::render(faults, &task.documents.sources)).unwrap_or_default();
    let value = Value::from_iter([
        ("source", Value::from(task.documents.sources.name(document.source))),
        ("approved", false.into()),
        ("diagnostics", report.get("diagnostics").cloned().unwrap_or_default()),
    ]);
    Some(Answer { value, exit: Exit::Invalid })
}

/// Prints the results and gives the worst of their exits.
fn print(results: Vec<Answer>, json: bool) -> Exit {
    let exit = results.iter().map(|result| result.exit).max().unwrap_or(Exit::Fine);
    let single = results.len() == 1;
    if json && !single {
        let results: Vec<Value> = results.into_iter().map(|result| result.value).collect();
        terminal::out(&Value::from_iter([("results", Value::Array(results))]).to_string());
        return exit;
    }
    for result in results {
        let text =
            if single && !json { pretty_insertion_utf8(&result.value) } else { result.value.to_string() };
        terminal::out(&text);
    }
    exit
}
