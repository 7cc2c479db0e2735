//! `stave test`: the tests that flows hold, run without a network.

mod arguments;

use stave_canon::Value;
use stave_diag::render::{Colour, visible};
use stave_diag::{Diagnostic, Sources, render};
use stave_testing::{Covered, Suite, TestOptions, TestResult, Tested};

pub(crate) use arguments::Test;

use crate::default_path::default_path;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::flows_only::require_flow;
use crate::terminal::{self, Terminal};

pub(crate) fn test(arguments: &Test, terminal: Terminal) -> Result<Exit, Stop> {
    let paths = if arguments.paths.is_empty() { vec![default_path()?] } else { arguments.paths.clone() };
    // Folders may hold other sources beside flows; a file that is named is meant.
    for path in paths.iter().filter(|path| !path.is_dir()) {
        require_flow(path, "test")?;
    }
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let mut flows = Vec::new();
    for file in files::expand(&paths)? {
        flows.extend(Tested::load(&file, &mut sources, &mut diagnostics)?);
    }
    let errors: Vec<Diagnostic> = diagnostics.iter().filter(|found| found.is_error()).cloned().collect();
    if !errors.is_empty() {
        return Ok(invalid(arguments, &errors, &sources, terminal));
    }
    if let Some(filter) = &arguments.filter {
        selects_some(filter, &flows)?;
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
        files::write_atomic(path, &stave_testing::junit(&suites))?;
    }
    Ok(report(arguments, &suites))
}

/// Refuses a filter that selects no test: nothing would be tested, and it would look like success.
fn selects_some(filter: &str, flows: &[Tested]) -> Result<(), Stop> {
    let names: Vec<&str> = flows.iter().flat_map(Tested::test_names).collect();
    if names.iter().any(|name| name.contains(filter)) {
        return Ok(());
    }
    let stop = Stop::invalid(format!("no test has `{filter}` in its name"));
    Err(match names.as_slice() {
        [] => stop.help("the flows have no tests with names"),
        names => stop.help(format!("the tests are {}", names.join(", "))),
    })
}

async fn suite(
    arguments: &Test,
    tested: &Tested,
    sources: &Sources,
    terminal: Terminal,
) -> Result<Suite, Stop> {
    let options = TestOptions { filter: arguments.filter.as_deref(), record: arguments.record };
    let name = tested.name();
    let mut told = |result: &TestResult| {
        if !arguments.json {
            show(&name, result, terminal);
        }
    };
    let suite = tested.run(options, sources, &mut told).await?;
    if arguments.update {
        tested.update(&suite)?;
    }
    Ok(suite)
}

/// A line about a test, and what was wrong with it.
fn show(flow: &str, result: &TestResult, terminal: Terminal) {
    let mark = match (result.passed(), terminal.stderr) {
        (true, Colour::Always) => "\u{1b}[32mok\u{1b}[0m  ",
        (false, Colour::Always) => "\u{1b}[31mFAIL\u{1b}[0m",
        (true, _) => "ok  ",
        (false, _) => "FAIL",
    };
    let (line, took) = (result.line, result.took.as_millis());
    let test = visible(&format!("{flow}:{line} {} ({took} ms)", result.name));
    terminal::error_styled(&format!("{mark} {test}"));
    for problem in &result.problems {
        terminal::error(&format!("     {}", problem.replace('\n', "\n     ")));
    }
    for note in &result.notes {
        terminal::error(&format!("     note: {note}"));
    }
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

fn report(arguments: &Test, suites: &[Suite]) -> Exit {
    let results = || suites.iter().flat_map(|suite| &suite.results);
    let failed = results().filter(|result| !result.passed()).count();
    let passed = results().count() - failed;
    let updated = if arguments.update { results().map(TestResult::changed_expectations).sum() } else { 0 };
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
        let coverage = suites.iter().map(|suite| (suite.flow.clone(), suite.covered_value()));
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
        terminal::error(&format!("{passed} passed, {failed} failed"));
        if updated > 0 {
            terminal::error(&format!("{updated} expectations were written anew"));
        }
    }
    if failed == 0 || (arguments.update && updated > 0) { Exit::Fine } else { Exit::Failed }
}

fn show_coverage(suite: &Suite) {
    let Covered { nodes, edges, missing_nodes, missing_edges } = suite.covered();
    terminal::error(&format!(
        "{}: {} of {nodes} nodes, {} of {edges} edges",
        suite.flow,
        nodes - missing_nodes.len(),
        edges - missing_edges.len()
    ));
    for missing in missing_nodes.iter().map(|id| format!("node {id}")).chain(missing_edges) {
        terminal::error(&format!("  no test reaches {missing}"));
    }
}
