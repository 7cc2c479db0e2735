//! The tests that flows hold: their cases run without a network, against models and hosts that answer from the test.
//!
//! Invariants: a call that nothing in the test answers fails the test and goes nowhere; only while a test is recorded are
//! models and hosts asked. A test reads the project's rows and writes none that outlive it. This crate parses no
//! arguments and prints nothing.

mod compare;
mod coverage;
mod hosts;
mod junit;
mod perform;
mod update;

use std::path::{Path, PathBuf};
use std::time::Duration;

use stave_canon::Value;
use stave_diag::{Diagnostic, Edit, Sources};
use stave_exec::Document;
use stave_flow::model::{Flow, FlowTest, Text};
use stave_project::admission::{Entrant, admit};
use stave_project::exit::Stop;
use stave_project::source_kind::SourceKind;
use stave_project::{Project, files, runnable};

use self::coverage::Coverage;
pub use self::junit::render as junit;
pub use self::perform::scripted_faults;

/// A flow that holds tests.
#[derive(Debug)]
pub struct Tested {
    file: PathBuf,
    text: String,
    flow: Flow,
    document: Document,
    project: Project,
}

/// Which tests are run, and how.
#[derive(Debug, Clone, Copy)]
pub struct TestOptions<'o> {
    /// Only tests whose name holds this text.
    pub filter: Option<&'o str>,
    /// Whether models and hosts are asked, and their replies kept in the files that `recording` names.
    pub record: bool,
}

/// The tests of one flow and what came of them.
#[derive(Debug)]
pub struct Suite {
    pub flow: String,
    pub results: Vec<TestResult>,
    coverage: Coverage,
    document: Document,
}

#[derive(Debug)]
pub struct TestResult {
    pub name: String,
    pub line: u32,
    pub took: Duration,
    /// In what the run was not as expected; nothing when it passed.
    pub problems: Vec<String>,
    /// What a person should look at although it fails nothing.
    pub notes: Vec<String>,
    /// What [`Tested::update`] would write.
    edits: Vec<Edit>,
}

/// The results of a flow's tests, and what none of them reached.
#[derive(Debug)]
pub struct Covered {
    pub nodes: usize,
    pub edges: usize,
    pub missing_nodes: Vec<String>,
    pub missing_edges: Vec<String>,
}

impl TestResult {
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }

    /// How many expectations are not what came.
    pub fn changed_expectations(&self) -> usize {
        self.edits.len()
    }
}

impl Tested {
    /// A flow with tests; `None` for files that hold none.
    pub fn load(
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

    /// The file as people know it.
    pub fn name(&self) -> String {
        files::shown(&self.file).display().to_string()
    }

    /// The names of the tests, in the order of the file.
    pub fn test_names(&self) -> impl Iterator<Item = &str> {
        self.flow.tests.iter().filter_map(|test| test.name.as_ref()).map(Text::as_str)
    }

    /// Runs the tests one after the other. `told` receives each result.
    pub async fn run(
        &self,
        options: TestOptions<'_>,
        sources: &Sources,
        told: &mut dyn FnMut(&TestResult),
    ) -> Result<Suite, Stop> {
        let (mut results, mut coverage) = (Vec::new(), Coverage::default());
        let wanted = |test: &&FlowTest| {
            let name = test.name.as_ref().map_or("", Text::as_str);
            options.filter.is_none_or(|filter| name.contains(filter))
        };
        for test in self.flow.tests.iter().filter(wanted) {
            let mut result = perform::perform(self, test, options.record, &mut coverage).await?;
            result.line = sources.place(test.span).map_or(0, |(start, _)| start.line);
            told(&result);
            results.push(result);
        }
        Ok(Suite { flow: self.name(), results, coverage, document: self.document.clone() })
    }

    /// Writes what came into the tests, in the place of what was expected.
    pub fn update(&self, suite: &Suite) -> Result<(), Stop> {
        let edits: Vec<Edit> = suite.results.iter().flat_map(|result| result.edits.clone()).collect();
        if edits.is_empty() {
            return Ok(());
        }
        files::write_atomic(&self.file, &update::apply(&self.text, edits))
    }
}

impl Suite {
    pub fn covered(&self) -> Covered {
        Covered {
            nodes: coverage::nodes_of(&self.document).len(),
            edges: self.document.graph.edges.len(),
            missing_nodes: self.coverage.missing_nodes(&self.document),
            missing_edges: self.coverage.missing_edges(&self.document),
        }
    }

    /// The same for machines.
    pub fn covered_value(&self) -> Value {
        self.coverage.to_value(&self.document)
    }
}
