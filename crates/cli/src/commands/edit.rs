//! `stave edit`: typed commands or a sentence, applied to the text of a flow.

use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_diag::{Sources, render};
use stave_flow::diff::show;
use stave_flow::edit::chat::{FORMS, Meaning, understand};
use stave_flow::edit::{EditError, EditRequest, Edited, FlowEdit, apply};

use crate::edit_model;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::flows_only::require_flow;
use crate::project::Project;
use crate::terminal::{self, Terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave edit flows/support.yaml \"add caching to the feature fetch\"
  stave edit flows/support.yaml \"make the LLM response more concise\" --dry-run
  stave edit flows/support.yaml --ops rename.json
  stave edit flows/support.yaml --ops rename.json --undo undo.json && stave edit flows/support.yaml --ops undo.json

Common sentences are understood without a model; others go to the model of `models.default` in stave.toml, \
which answers in edit commands. An edit that would add errors is refused. `stave edit --schema` prints the \
JSON Schema of the commands.")]
pub(crate) struct Edit {
    /// The flow
    #[arg(required_unless_present = "schema")]
    flow: Option<PathBuf>,
    /// What to change, as a sentence
    #[arg(conflicts_with = "ops", required_unless_present_any = ["ops", "schema"])]
    sentence: Option<String>,
    /// A file with edit commands as JSON; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    ops: Option<PathBuf>,
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Keep the commands that take the edit back in this file
    #[arg(long, value_name = "FILE")]
    undo: Option<PathBuf>,
    /// Answer from this recording instead of asking a model
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Never ask a model, whatever the sentence
    #[arg(long, conflicts_with = "replay")]
    offline: bool,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    json: bool,
    /// Print the JSON Schema of edit commands
    #[arg(long, exclusive = true)]
    schema: bool,
}

impl Edit {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}

pub(crate) fn edit(arguments: &Edit, terminal: Terminal) -> Result<Exit, Stop> {
    let Some(file) = &arguments.flow else {
        terminal::out(&stave_canon::pretty_insertion_utf8(&stave_flow::edit::request_schema()));
        return Ok(Exit::Fine);
    };
    require_flow(file, "edit")?;
    let text = files::read_text(file)?;
    let mut sources = Sources::new();
    let project = Project::of(file, &mut sources, &mut Vec::new())?;
    let options = project.check_options(false)?;
    let proposal = match (&arguments.ops, &arguments.sentence) {
        (Some(path), _) => Proposal { request: request(path)?, by: "commands" },
        (None, Some(sentence)) => sentence_request(arguments, &project, &text, sentence, &options)?,
        (None, None) => return Err(Stop::invalid("say what to change, or name a file with --ops")),
    };
    let edited = apply(&text, &proposal.request, &options)
        .map_err(|error| refused(&error, &file.display().to_string(), terminal, arguments.json))?;
    if !arguments.dry_run {
        if let Some(undo) = &arguments.undo {
            files::write_atomic(undo, &stave_canon::pretty_insertion_utf8(&edited.inverse.to_value()))?;
        }
        if edited.text != text {
            files::write_atomic(file, &edited.text)?;
        }
    }
    report(arguments, file, &proposal, &edited, terminal);
    Ok(Exit::Fine)
}

/// Commands, and where they come from.
struct Proposal {
    request: EditRequest,
    by: &'static str,
}

fn request(path: &Path) -> Result<EditRequest, Stop> {
    let text = files::read_text(path)?;
    let value = stave_canon::parse_untrusted(&text).map_err(|error| {
        let place = format!("{}:{}:{}", path.display(), error.line, error.column);
        Stop::invalid(format!("{place}: the commands are not JSON: {}", error.message))
    })?;
    EditRequest::from_value(&value).map_err(|reason| {
        Stop::invalid(format!("{}: {reason}", path.display()))
            .help("`stave edit --schema` prints the schema of the commands")
    })
}

fn sentence_request(
    arguments: &Edit,
    project: &Project,
    text: &str,
    sentence: &str,
    options: &stave_flow::CheckOptions,
) -> Result<Proposal, Stop> {
    let parsed = stave_flow::parse(stave_diag::SourceId(0), text);
    let Some(flow) = parsed.flow else {
        return Err(Stop::invalid("the file is not a flow").help("`stave check` says what is wrong with it"));
    };
    match understand(&flow, sentence) {
        Meaning::Commands(commands) => {
            return Ok(Proposal { request: EditRequest::new(commands), by: "grammar" });
        }
        Meaning::Unclear(reason) if arguments.offline || !can_ask(arguments, project) => {
            return Err(Stop::invalid(reason).help(understood()));
        }
        Meaning::Unknown if arguments.offline || !can_ask(arguments, project) => {
            let message = "the sentence is not understood without a model";
            return Err(Stop::invalid(message).help(understood()));
        }
        Meaning::Unclear(_) | Meaning::Unknown => {}
    }
    let commands = edit_model::ask(arguments.replay.as_deref(), project, text, sentence, options)?;
    Ok(Proposal { request: EditRequest::new(commands), by: "model" })
}

fn understood() -> String {
    let forms: Vec<String> = FORMS.iter().map(|form| format!("\n    {form}")).collect();
    format!("these forms are understood:{}\n  or set `models.default` in stave.toml", forms.concat())
}

/// Shows why an edit was not made; errors that it would add are shown in the text that it would make.
fn refused(error: &EditError, name: &str, terminal: Terminal, json: bool) -> Stop {
    let help = match error {
        EditError::Unknown { help, .. } => help.clone(),
        EditError::Alias { .. } => Some("write the value out in place of the alias, then edit it".to_owned()),
        EditError::OtherBase { .. } => Some("read the flow again and make the edit anew".to_owned()),
        EditError::AddsErrors { diagnostics, text } => {
            let mut sources = Sources::new();
            sources.add(format!("{name} (as it would be)"), text.as_str());
            if !json {
                terminal::error_styled(
                    render::terminal::render(diagnostics, &sources, terminal.stderr).trim_end(),
                );
                terminal::error("");
            }
            Some(render::short::render(diagnostics, &sources).trim_end().to_owned()).filter(|_| json)
        }
        _ => None,
    };
    let stop = Stop::invalid(format!("nothing was changed: {error}"));
    match help {
        Some(help) => stop.help(help),
        None => stop,
    }
}

fn report(arguments: &Edit, file: &Path, proposal: &Proposal, edited: &Edited, terminal: Terminal) {
    let is_written = !arguments.dry_run;
    if arguments.json {
        let commands = proposal.request.commands.iter().map(FlowEdit::to_value).collect();
        let object = Value::from_iter([
            ("status", Value::from("ok")),
            ("written", Value::Bool(is_written)),
            ("by", Value::from(proposal.by)),
            ("hash", edited.hash.clone().into()),
            ("commands", Value::Array(commands)),
            ("diff", edited.diff.to_value()),
            ("inverse", edited.inverse.to_value()),
            ("text", Value::from(edited.text.as_str())),
        ]);
        terminal::out(&object.to_string());
        return;
    }
    terminal::out_styled(show(&edited.diff, terminal.stdout).to_string().trim_end());
    let verb = if is_written { "edited" } else { "would edit" };
    terminal::error(&format!("{verb} {}: {}", file.display(), render::summary(&edited.diagnostics)));
}

/// Whether somebody can be asked what a sentence means.
fn can_ask(arguments: &Edit, project: &Project) -> bool {
    arguments.replay.is_some() || project.settings.default_model.is_some()
}
