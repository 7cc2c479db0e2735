//! What is wrong with documents and bundles, gathered under the project's policies and printed.

use std::path::Path;

use stave_diag::{Diagnostic, Sources, render, sort};
use stave_system::policy::{Check, CheckPolicies, Level};

use crate::args::{self, PolicyFlags};
use crate::exit::{Exit, Stop};
use crate::project::{Project, Reported};
use crate::terminal::{self, Terminal};

#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) sources: Sources,
    pub(crate) diagnostics: Vec<Diagnostic>,
    files: usize,
    reported: Reported,
}

impl Findings {
    /// The project of a file. Its own mistakes are reported once.
    pub(crate) fn project(&mut self, file: &Path) -> Result<Project, Stop> {
        self.files += 1;
        let mut found = Vec::new();
        let project = Project::of(file, &mut self.sources, &mut found)?;
        self.diagnostics.extend(self.reported.fresh(&project, found));
        Ok(project)
    }

    /// Keeps a finding at the severity that its level gives it.
    pub(crate) fn add(&mut self, level: Level, mut diagnostic: Diagnostic) {
        if let Some(severity) = level.severity() {
            diagnostic.severity = severity;
            self.diagnostics.push(diagnostic);
        }
    }

    pub(crate) fn print(mut self, json: bool, terminal: Terminal) -> Exit {
        sort(&mut self.diagnostics);
        if json {
            terminal::out(render::json::render(&self.diagnostics, &self.sources).trim_end());
        } else {
            let text = render::terminal::render(&self.diagnostics, &self.sources, terminal.stderr);
            if !text.is_empty() {
                terminal::error_styled(text.trim_end());
                terminal::error("");
            }
            let counted = if self.files == 1 { "1 file".to_owned() } else { format!("{} files", self.files) };
            terminal::error(&format!("checked {counted}: {}", render::summary(&self.diagnostics)));
        }
        if self.diagnostics.iter().any(Diagnostic::is_error) { Exit::Invalid } else { Exit::Fine }
    }
}

/// The project's levels, with what the command line says over them.
pub(crate) fn policies(project: &Project, flags: PolicyFlags) -> CheckPolicies {
    let mut policies = project.settings.checks;
    let given = [
        (Check::OperationalStructure, flags.ir_operational_structure_policy),
        (Check::GraphIntegrity, flags.ir_graph_integrity_policy),
        (Check::ArtifactConsistency, flags.artifact_consistency_policy),
        (Check::IntentAlignment, flags.deployment_intents_ir_alignment_policy),
    ];
    for (check, level) in given {
        if let Some(level) = level {
            policies.set(
                check,
                match level {
                    args::Level::Off => Level::Off,
                    args::Level::Warn => Level::Warn,
                    args::Level::Error => Level::Error,
                },
            );
        }
    }
    policies
}
