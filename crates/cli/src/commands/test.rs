//! `stave test`: the tests that flows hold, run without a network.

mod arguments;
mod compare;
mod coverage;
mod hosts;
mod junit;
mod perform;
mod update;

use std::path::{Path, PathBuf};
use std::time::Duration;

use stave_canon::Value;
use stave_diag::render::{Colour, visible};
use stave_diag::{Diagnostic, Edit, Sources, render};
use stave_exec::Document;
use stave_flow::model::{Flow, FlowTest, Text};

pub(crate) use arguments::Test;

use self::coverage::Coverage;
use crate::admission::{Entrant, admit};
use crate::default_path::default_path;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::project::Project;
use crate::runnable;
use crate::source_kind::SourceKind;
use crate::terminal::{self, Terminal};

/// The tests of one flow and what came of them.
pub(super) struct Suite {
    pub(super) flow: String,
    pub(super) results: Vec<TestResult>,
    coverage: Coverage,
    document: Document,
}

pub(super) struct TestResult {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) took: Duration,
    /// In what the run was not as expected; nothing when it passed.
    pub(super) problems: Vec<String>,
    /// What a person should look at although it fails nothing.
    pub(super) notes: Vec<String>,
    /// What `--update` would write.
    edits: Vec<Edit>,
}

/// A flow that holds tests.
struct Tested {
    file: PathBuf,
    text: String,
    flow: Flow,
    document: Document,
    project: Project,
}

impl TestResult {
    pub(super) fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

pub(crate) fn test(arguments: &Test, terminal: Terminal) -> Result<Exit, Stop> {
    let paths = if arguments.paths.is_empty() { vec![default_path()?] } else { arguments.paths.clone() };
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let mut flows = Vec::new();
    for file in files::expand(&paths)? {
        flows.extend(load(&file, &mut sources, &mut diagnostics)?);
    }
    let errors: Vec<Diagnostic> = diagnostics.iter().filter(|found| found.is_error()).cloned().collect();
    if !errors.is_empty() {
        return Ok(invalid(arguments, &errors, &sources, terminal));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let suites = runtime.block_on(async {
        let mut suites = Vec::new();
        for flow in &flows {
            suites.push(suite(arguments, flow, &sources, terminal).await?);
        }
        Ok::<_, Stop>(suites)
    })?;
    if let Some(path) = &arguments.junit {
        files::write_atomic(path, &junit::render(&suites))?;
    }
    Ok(report(arguments, &suites, terminal))
}

/// A flow with tests; `None` for files that hold none.
fn load(
    file: &Path,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Option<Tested>, Stop> {
    let text = files::read_text(file)?;
    if SourceKind::of(file) != Some(SourceKind::Flow) || !text.contains("tests") {
        return Ok(None);
    }
    let mut found = Vec::new();
    let project = Project::of(file, sources, &mut found)?;
    admit(&project, &Entrant::Source)?;
    let source = sources.add(files::shown(file).display().to_string(), text.as_str());
    let loaded = runnable::lower(file, source, &text, &project, false, sources, &mut found)?;
    diagnostics.append(&mut found);
    Ok(loaded.filter(|(flow, _)| !flow.tests.is_empty()).map(|(flow, document)| Tested {
        file: file.to_path_buf(),
        text,
        flow,
        document,
        project,
    }))
}

fn invalid(arguments: &Test, errors: &[Diagnostic], sources: &Sources, terminal: Terminal) -> Exit {
    if arguments.json {
        let found = stave_canon::parse(&render::json::render(errors, sources)).unwrap_or_default();
        let object = Value::from_iter([
            ("status", Value::from("error")),
            ("diagnostics", found.get("diagnostics").cloned().unwrap_or_default()),
        ]);
        terminal::out(&object.to_string());
    } else {
        terminal::error_styled(render::terminal::render(errors, sources, terminal.stderr).trim_end());
        terminal::error(&format!("nothing was tested: {}", render::summary(errors)));
    }
    Exit::Invalid
}

async fn suite(
    arguments: &Test,
    tested: &Tested,
    sources: &Sources,
    terminal: Terminal,
) -> Result<Suite, Stop> {
    let name = files::shown(&tested.file).display().to_string();
    let mut suite = Suite {
        flow: name.clone(),
        results: Vec::new(),
        coverage: Coverage::default(),
        document: tested.document.clone(),
    };
    let wanted = |test: &&FlowTest| {
        let name = test.name.as_ref().map_or("", Text::as_str);
        arguments.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    };
    for test in tested.flow.tests.iter().filter(wanted) {
        let line = sources.place(test.span).map_or(0, |(start, _)| start.line);
        let mut result = perform::perform(tested, test, arguments.record, &mut suite.coverage).await?;
        result.line = line;
        if !arguments.json {
            let mark = match (result.passed(), terminal.stderr) {
                (true, Colour::Always) => "\u{1b}[32mok\u{1b}[0m  ",
                (false, Colour::Always) => "\u{1b}[31mFAIL\u{1b}[0m",
                (true, _) => "ok  ",
                (false, _) => "FAIL",
            };
            let test = visible(&format!("{name}:{line} {} ({} ms)", result.name, result.took.as_millis()));
            terminal::error_styled(&format!("{mark} {test}"));
            for problem in &result.problems {
                terminal::error(&format!("     {}", problem.replace('\n', "\n     ")));
            }
            for note in &result.notes {
                terminal::error(&format!("     note: {note}"));
            }
        }
        suite.results.push(result);
    }
    if arguments.update {
        let edits: Vec<Edit> = suite.results.iter().flat_map(|result| result.edits.clone()).collect();
        if !edits.is_empty() {
            files::write_atomic(&tested.file, &update::apply(&tested.text, edits))?;
        }
    }
    Ok(suite)
}

fn report(arguments: &Test, suites: &[Suite], terminal: Terminal) -> Exit {
    let results = || suites.iter().flat_map(|suite| &suite.results);
    let failed = results().filter(|result| !result.passed()).count();
    let passed = results().count() - failed;
    let updated = if arguments.update { results().map(|result| result.edits.len()).sum() } else { 0 };
    if arguments.json {
        let tests = suites.iter().flat_map(|suite| {
            suite.results.iter().map(|result| {
                Value::from_iter([
                    ("flow", Value::from(suite.flow.as_str())),
                    ("name", result.name.as_str().into()),
                    ("line", result.line.into()),
                    ("status", if result.passed() { "passed" } else { "failed" }.into()),
                    ("duration_ms", (result.took.as_micros() as f64 / 1000.0).into()),
                    ("problems", result.problems.clone().into()),
                    ("notes", result.notes.clone().into()),
                ])
            })
        });
        let coverage =
            suites.iter().map(|suite| (suite.flow.clone(), suite.coverage.to_value(&suite.document)));
        let object = Value::from_iter([
            ("status", Value::from(if failed == 0 { "ok" } else { "error" })),
            ("passed", passed.into()),
            ("failed", failed.into()),
            ("updated", updated.into()),
            ("tests", Value::Array(tests.collect())),
            ("coverage", coverage.collect()),
        ]);
        terminal::out(&object.to_string());
    } else {
        for suite in suites.iter().filter(|_| arguments.coverage) {
            show_coverage(suite);
        }
        let _ = terminal;
        terminal::error(&format!("{passed} passed, {failed} failed"));
        if updated > 0 {
            terminal::error(&format!("{updated} expectations were written anew"));
        }
    }
    if failed == 0 || (arguments.update && updated > 0) { Exit::Fine } else { Exit::Failed }
}

fn show_coverage(suite: &Suite) {
    let (nodes, edges) = (coverage::nodes_of(&suite.document).len(), suite.document.graph.edges.len());
    let missing_nodes = suite.coverage.missing_nodes(&suite.document);
    let missing_edges = suite.coverage.missing_edges(&suite.document);
    terminal::error(&format!(
        "{}: {} of {nodes} nodes, {} of {edges} edges",
        suite.flow,
        nodes - missing_nodes.len(),
        edges - missing_edges.len()
    ));
    for missing in missing_nodes.iter().map(|id| format!("node {id}")).chain(missing_edges) {
        terminal::error(&format!("  no test comes to {missing}"));
    }
}
