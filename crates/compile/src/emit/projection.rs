//! What the system, bundle and deployment emitters share: the document of each project, and the bundle
//! made from it.
//!
//! Flows of different tenants or repositories never share a document: each [`Scope`] has its own, under a run
//! id of its own.

use stave_diag::{Sources, render};
use stave_lower::{
    Knowledge, KnowledgeFile, SystemFlow, SystemSettings, SystemSource, SystemWorkflow, flow_to_system,
    read_knowledge, system_intent,
};
use stave_project::Project;
use stave_project::exit::Stop;
use stave_system::bundle::{Bundle, BundleSource, Intent, Specifications, specifications};
use stave_system::policy::Level;
use stave_system::verify::{Concern, verify};
use stave_system::{SystemDocument, strip};

use super::Tree;
use crate::compilation::{Compilation, CompiledFlow};
use crate::scope::{Scope, scopes};

/// The document of one scope.
pub(super) struct Projection<'c> {
    pub(super) scope: Scope<'c>,
    pub(super) document: SystemDocument,
    pub(super) knowledge: Option<Knowledge>,
    /// What the project's policies only warn of.
    pub(super) warnings: Vec<String>,
}

/// The bundle of one scope, with what it was made from.
pub(super) struct Bundled {
    pub(super) bundle: Bundle,
    pub(super) specifications: Specifications,
    pub(super) intent: Intent,
}

/// The documents of a compilation, by scope.
pub(super) fn project(compilation: &Compilation) -> Result<Vec<Projection<'_>>, Stop> {
    let mut projections = Vec::new();
    for scope in scopes(compilation)? {
        let knowledge = knowledge(&scope)?;
        let document = lower(compilation, &scope, knowledge.as_ref())?;
        let warnings = hold(&document, &scope.project)?;
        projections.push(Projection { scope, document, knowledge, warnings });
    }
    Ok(projections)
}

fn lower(
    compilation: &Compilation,
    scope: &Scope<'_>,
    knowledge: Option<&Knowledge>,
) -> Result<SystemDocument, Stop> {
    let project = &scope.project;
    let settings = SystemSettings {
        tenant_id: scope.tenant_id.clone(),
        repo_id: scope.repo_id.clone(),
        policy_ref: project.policy_ref(),
        policy_sha256: scope.policy_sha256.clone(),
        default_model: project.settings.default_model.clone(),
        snapshot_path: scope.snapshot_path.clone(),
    };
    let mut system_flows = Vec::new();
    let mut workflows = Vec::new();
    for flow in &scope.flows {
        let source_file = flow.source.name.as_str();
        match flow.flow() {
            Some(flow) => system_flows.push(SystemFlow { flow, source_file }),
            None => {
                let document = flow.document()?;
                workflows.push(SystemWorkflow {
                    document,
                    source_file,
                    source_text: &flow.source.text,
                    triggers: &flow.triggers,
                });
            }
        }
    }
    let source = SystemSource {
        flows: &system_flows,
        workflows: &workflows,
        sources: &compilation.sources,
        settings: &settings,
        knowledge,
    };
    flow_to_system(source)
        .map_err(|error| Stop::invalid(format!("the system document would be invalid:\n{error}")))
}

/// Holds a document to the project's policies: what is an error stops the compile, what is a warning is
/// given back.
fn hold(document: &SystemDocument, project: &Project) -> Result<Vec<String>, Stop> {
    let policies = project.settings.checks;
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for finding in verify(document) {
        let level = match finding.rule.concern() {
            Concern::Contracts => policies.operational_structure,
            Concern::Graph => policies.graph_integrity,
        };
        let line = format!("{}: {} [{}]", finding.pointer, finding.message, finding.rule.code());
        match level {
            Level::Off => {}
            Level::Warn => warnings.push(format!("system document {line}")),
            Level::Error => errors.push(line),
        }
    }
    if errors.is_empty() {
        return Ok(warnings);
    }
    Err(Stop::invalid(format!("the system document has errors:\n{}", errors.join("\n"))))
}

/// What a project knows; `None` when it has no folder for it, or nothing in it.
fn knowledge(scope: &Scope<'_>) -> Result<Option<Knowledge>, Stop> {
    let mut sources = Sources::new();
    let mut knowledge_files = Vec::new();
    for file in &scope.knowledge {
        let source = sources.add(file.shown.clone(), file.text.as_str());
        knowledge_files.push(KnowledgeFile { source, name: file.name.clone(), text: file.text.clone() });
    }
    let (knowledge, diagnostics) = read_knowledge(&knowledge_files);
    // A constraint with a mistyped field would hold less than its author means, so nothing is left to a warning.
    if !diagnostics.is_empty() {
        let shown = render::short::render(&diagnostics, &sources);
        return Err(Stop::invalid(format!("the knowledge folder has mistakes:\n{}", shown.trim_end())));
    }
    Ok(Some(knowledge).filter(|knowledge| !knowledge.is_empty()))
}

impl<'c> Projection<'c> {
    /// Passes on what the policies only warn of.
    pub(super) fn warn(&self, tree: &mut Tree) {
        for warning in &self.warnings {
            tree.warn(warning.clone());
        }
    }

    /// Makes the bundle, and holds it to the project's policies.
    pub(super) fn bundle(&self) -> Result<Bundled, Stop> {
        let specifications = specifications(&self.scope.run_id, &self.document);
        let intent = system_intent(&self.document);
        let bundle = Bundle::emit(BundleSource {
            run_id: &self.scope.run_id,
            document: &self.document,
            intent: Some(&intent),
            orchestration: &specifications.orchestration,
            coordination: &specifications.coordination,
            delivery_plan: None,
            options: self.scope.project.bundle_options(),
        })
        .map_err(|error| Stop::invalid(error.to_string()))?;
        Ok(Bundled { bundle, specifications, intent })
    }

    /// The compiled flow of a name.
    pub(super) fn compiled(&self, flow: &str) -> Option<&'c CompiledFlow> {
        let named = self.scope.flows.iter().find(|compiled| {
            let own = compiled
                .flow()
                .and_then(|flow| flow.metadata.name.as_ref())
                .map(|name| name.as_str().to_owned());
            own.as_deref().map(strip) == Some(strip(flow))
        });
        named.copied()
    }
}
