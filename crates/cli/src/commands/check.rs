//! `stave check`: everything that is wrong with flows, workflows and exec documents, at its line and column.

mod context_files;
mod fix;
mod names;
mod recordings;
mod settings;
mod token_budgets;

use std::path::{Path, PathBuf};

use stave_diag::{Diagnostic, SourceId, Sources, Span, render, sort};
use stave_exec::Acceptance;
use stave_exec::wdl::{self, Dialect};
use stave_flow::CheckOptions;
use stave_project::certain_refusals;

use self::names::Names;
use self::token_budgets::PromptBudgetLimits;

use crate::args::{Check, Format};
use crate::changes::Changes;
use crate::default_path::default_path;
use crate::exit::{Exit, Stop};
use crate::files::{self, CheckedText};
use crate::project::{self, Project, Reported};
use crate::source_kind::{SourceKind, is_exec_document};
use crate::terminal::{self, Terminal};
use crate::workflow;

/// What is checked is not kept, so its time does not matter.
const ANY_TIME: &str = "1970-01-01T00:00:00Z";

/// A text that is checked.
struct Checked {
    /// What it is called, and where its project is looked for.
    file: PathBuf,
    text: String,
    /// Where its bytes stop being text.
    broken_at: Option<usize>,
    from_stdin: bool,
    options: CheckOptions,
    /// The kinds of steps of other runtimes that its project lists.
    step_kinds: Vec<String>,
    /// What the project says about the budgets of prompts.
    prompts: PromptBudgetLimits,
    /// The folder of its project file, if there is one.
    project: Option<PathBuf>,
}

/// What was found in one text.
struct Found {
    source: SourceId,
    diagnostics: Vec<Diagnostic>,
    /// The name of a flow or workflow, with its place.
    name: Option<(String, Span)>,
}

pub(crate) fn check(arguments: &Check, terminal: Terminal) -> Result<Exit, Stop> {
    let paths = if arguments.paths.is_empty() { vec![default_path()?] } else { arguments.paths.clone() };
    if !arguments.watch {
        return once(arguments, &paths, terminal);
    }
    if paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Stop::invalid("stdin cannot be watched"));
    }
    let changes = Changes::watch(&paths)?;
    loop {
        // A file that is being saved may be unreadable for a moment, which is not the end.
        if let Err(stop) = once(arguments, &paths, terminal) {
            terminal.stop(&stop);
        }
        if !changes.wait() {
            return Ok(Exit::Fine);
        }
    }
}

fn once(arguments: &Check, paths: &[PathBuf], terminal: Terminal) -> Result<Exit, Stop> {
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let (mut subjects, unread) = read(arguments, paths, &mut sources, &mut diagnostics)?;
    let format = if arguments.json { Format::Json } else { arguments.format };
    let mut fixed = 0;
    if arguments.fix {
        for subject in &mut subjects {
            fixed += fix(subject, format)?;
        }
    }
    let mut names = Names::default();
    for subject in &subjects {
        let found = diagnose(subject, &mut sources)?;
        diagnostics.extend(found.diagnostics);
        diagnostics.extend(names.add(subject, found.name));
    }
    diagnostics.extend(settings::unknown_names(&subjects, &mut sources)?);
    sort(&mut diagnostics);
    print(&diagnostics, &sources, format, terminal, subjects.len(), fixed);
    // What could not be read hides nothing about the rest.
    let mut unread = unread.into_iter();
    if let Some(last) = unread.next_back() {
        unread.for_each(|stop| terminal.stop(&stop));
        return Err(last);
    }
    Ok(if diagnostics.iter().any(Diagnostic::is_error) { Exit::Invalid } else { Exit::Fine })
}

/// Every text that the paths stand for, and the files in folders that could not be read. What is wrong with a project file is
/// reported once.
fn read(
    arguments: &Check,
    paths: &[PathBuf],
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<(Vec<Checked>, Vec<Stop>), Stop> {
    let mut unread = Vec::new();
    let mut subjects: Vec<Checked> = Vec::new();
    let mut reported = Reported::default();
    let mut of_projects = Vec::new();
    for path in paths {
        let from_stdin = path.as_os_str() == "-";
        let named = if from_stdin { vec![path.clone()] } else { files::expand(std::slice::from_ref(path))? };
        for file in named {
            let CheckedText { text, broken_at } = match files::read_source(&file) {
                Ok(read) => read,
                Err(stop) if file != *path => {
                    unread.push(stop);
                    continue;
                }
                Err(stop) => return Err(stop),
            };
            let file = match &arguments.stdin_name {
                Some(name) if from_stdin => name.clone(),
                _ => file,
            };
            let mut from_project = Vec::new();
            let project = Project::of(&file, sources, &mut from_project)?;
            of_projects.push((project.root.clone(), reported.fresh(&project, from_project)));
            let options = project.check_options(arguments.strict)?;
            let prompts = PromptBudgetLimits::of(&project);
            let step_kinds = project.settings.step_kinds;
            let project = project.has_file.then_some(project.root);
            subjects.push(Checked {
                file,
                text,
                broken_at,
                from_stdin,
                options,
                prompts,
                project,
                step_kinds,
            });
        }
    }
    // A project file that is checked itself says what is wrong with it.
    let is_checked = |root: &PathBuf| {
        subjects
            .iter()
            .any(|subject| is_project_file(&subject.file) && subject.project.as_ref() == Some(root))
    };
    let others = of_projects.into_iter().filter(|(root, _)| !is_checked(root));
    diagnostics.extend(others.flat_map(|(_, found)| found));
    Ok((subjects, unread))
}

/// The findings of one text, whatever it holds.
fn diagnose(checked: &Checked, sources: &mut Sources) -> Result<Found, Stop> {
    let Checked { file, text, options, .. } = checked;
    let source = sources.add(file.display().to_string(), text.as_str());
    if let Some(broken_at) = checked.broken_at {
        return Ok(Found { source, diagnostics: vec![files::not_text(source, broken_at)], name: None });
    }
    let (mut diagnostics, mut name) = (Vec::new(), None);
    if is_project_file(file) {
        project::read(source, text, &mut diagnostics);
    } else if is_exec_document(file, text) {
        diagnostics = match stave_exec::check_text(source, text, Acceptance::Additive) {
            Ok(document) => stave_exec::later_additions(source, text, &document),
            Err(found) => found,
        };
    } else {
        diagnostics = match SourceKind::of(file) {
            // The policy's own mistakes are found when it is checked itself.
            Some(SourceKind::Workflow) => {
                let read = workflow::read(
                    file,
                    source,
                    text,
                    ANY_TIME,
                    &options.scopes,
                    &checked.step_kinds,
                    sources,
                )?;
                name = read.name;
                read.diagnostics
            }
            Some(SourceKind::Policy) => wdl::check_policy(source, text, Dialect::Extended).diagnostics,
            Some(SourceKind::Flow) | None => {
                let loaded = stave_flow::load(source, text, options);
                let missing = recordings::find(&loaded, file);
                let written = loaded.flow.as_ref().and_then(|flow| flow.metadata.name.as_ref());
                name = written.map(|name| (name.as_str().to_owned(), name.span));
                let mut found: Vec<Diagnostic> = loaded.diagnostics.iter().cloned().chain(missing).collect();
                if let Some(root) = &checked.project {
                    found.extend(context_files::missing(&loaded, options, root)?);
                }
                found.extend(token_budgets::findings(&loaded, &checked.prompts));
                certain_refusals::raise(&mut found, checked.project.is_some());
                found
            }
        };
    }
    Ok(Found { source, diagnostics, name })
}

fn is_project_file(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == project::FILE)
}

/// Applies the fixes of one text and writes it where it came from; gives how many there were.
fn fix(subject: &mut Checked, format: Format) -> Result<usize, Stop> {
    if subject.from_stdin && format != Format::Human {
        return Err(Stop::invalid("`--fix -` prints the fixed text on stdout, where no findings can go")
            .help("leave `--format` out: findings are then shown on stderr"));
    }
    // What is not text cannot be written back as it was.
    if subject.broken_at.is_some() {
        return Ok(0);
    }
    let count = fix::apply(subject)?;
    if subject.from_stdin {
        terminal::out_file(subject.text.trim_end_matches('\n'));
    } else if count > 0 {
        files::write_atomic(&subject.file, &subject.text)?;
    }
    Ok(count)
}

fn print(
    diagnostics: &[Diagnostic],
    sources: &Sources,
    format: Format,
    terminal: Terminal,
    files: usize,
    fixed: usize,
) {
    match format {
        Format::Json => terminal::out(render::json::render(diagnostics, sources).trim_end()),
        Format::Sarif => terminal::out(render::sarif::render(diagnostics, sources).trim_end()),
        Format::Short => {
            let text = render::short::render(diagnostics, sources);
            if !text.is_empty() {
                terminal::out(text.trim_end());
            }
        }
        Format::Github => {
            let text = render::github::render(diagnostics, sources);
            if !text.is_empty() {
                terminal::out(text.trim_end());
            }
        }
        Format::Human => {
            let text = render::terminal::render(diagnostics, sources, terminal.stderr);
            if !text.is_empty() {
                terminal::error_styled(text.trim_end());
                terminal::error("");
            }
            let counted = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            let fixes = if fixed == 0 { String::new() } else { format!(", {fixed} fixed") };
            terminal::error(&format!("checked {counted}{fixes}: {}", render::summary(diagnostics)));
            if let Some(first) = diagnostics.first() {
                terminal::error(&format!("`stave explain {}` says more", first.code));
            }
        }
    }
}
