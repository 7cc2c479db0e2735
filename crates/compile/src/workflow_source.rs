//! WDL workflows and the PDL policies they are paired with.

use std::collections::HashMap;
use std::sync::Arc;

use stave_canon::Value;
use stave_diag::Diagnostic;
use stave_exec::wdl::{self, Dialect, PairedPolicy, WdlPolicy};
use stave_lower::{hold_to_labels, workflow_leaks};
use stave_project::source_kind::{SourceKind, stem};

use super::cache::Key;
use super::compilation::{Lowered, NO_TIME};
use super::sources::SourceFile;

/// Every policy of the invocation, read once.
#[derive(Debug)]
pub(super) struct Policies {
    by_stem: HashMap<String, Vec<Read>>,
    /// What is wrong with the policies themselves.
    pub(super) diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
struct Read {
    file: Arc<SourceFile>,
    policy: Option<WdlPolicy>,
}

impl Policies {
    pub(super) fn read(files: &[Arc<SourceFile>]) -> Policies {
        let mut policies = Policies { by_stem: HashMap::new(), diagnostics: Vec::new() };
        for file in files.iter().filter(|file| file.kind == SourceKind::Policy) {
            let checked = wdl::check_policy(file.id, &file.text, Dialect::Extended);
            policies.diagnostics.extend(checked.diagnostics);
            let read = Read { file: Arc::clone(file), policy: checked.value };
            policies.by_stem.entry(stem(&file.path)).or_default().push(read);
        }
        policies
    }

    /// The policy of a workflow: the one with its name in its own folder, else the first with its name.
    fn of(&self, workflow: &SourceFile) -> Option<&Read> {
        let candidates = self.by_stem.get(&stem(&workflow.path))?;
        let beside = candidates.iter().find(|read| read.file.path.parent() == workflow.path.parent());
        beside.or_else(|| candidates.first())
    }

    pub(super) fn key(&self, file: &SourceFile) -> Key {
        let labels = Value::Object(file.project.settings.sensitivity()).to_string();
        let kinds = Value::from(file.project.settings.step_kinds.clone()).to_string();
        let mut parts = vec!["workflow", &labels, &kinds, &file.name, &file.text];
        if let Some(read) = self.of(file) {
            parts.extend([&*read.file.name, &*read.file.text]);
        }
        Key::of(&parts)
    }

    pub(super) fn lower(&self, file: &SourceFile) -> (Option<Lowered>, Vec<Diagnostic>) {
        let checked = wdl::check_workflow(file.id, &file.text, Dialect::Extended);
        let mut diagnostics = checked.diagnostics;
        let Some(workflow) = checked.value.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)) else {
            return (None, diagnostics);
        };
        diagnostics.extend(wdl::unknown_step_kinds(&workflow, &file.project.settings.step_kinds));
        let name = stem(&file.path);
        let read = self.of(file);
        let policy = read.and_then(|read| {
            let policy = read.policy.as_ref()?;
            Some(PairedPolicy { policy, name: &name, source_file: &read.file.name })
        });
        if read.is_some() && policy.is_none() {
            // The policy's own mistakes are reported where it was read.
            return (None, diagnostics);
        }
        let settings = wdl::LoweringOptions {
            policy,
            generated_at: NO_TIME,
            source_file: &file.name,
            dialect: Dialect::Extended,
        };
        let (document, found) = wdl::lower(&workflow, &settings);
        diagnostics.extend(found);
        let project = &file.project.settings;
        let leaks =
            document.as_ref().map(|document| workflow_leaks(document, file.id, &file.text, &project.accepts));
        diagnostics.extend(leaks.into_iter().flatten());
        let document =
            document.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)).map(|mut document| {
                hold_to_labels(&mut document, &project.sensitivity());
                document
            });
        let lowered = document.map(|document| Lowered {
            triggers: wdl::triggers(&workflow, &document.flow.name),
            document,
            flow: None,
        });
        (lowered, diagnostics)
    }
}
