//! What the system, bundle and deployment emitters share: the document of each project, and the bundle
//! made from it.
//!
//! Flows of different tenants or repositories never share a document: each scope has its own, under a run
//! id of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use stave_diag::{Diagnostic, Sources, render};
use stave_lower::{
    Knowledge, KnowledgeFile, SystemFlow, SystemSettings, SystemSource, SystemWorkflow, flow_to_system,
    read_knowledge, system_intent,
};
use stave_project::exit::Stop;
use stave_project::files;
use stave_project::{self as project, Project};
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, Intent, Specifications, specifications};
use stave_system::policy::Level;
use stave_system::verify::{Concern, verify};
use stave_system::{SystemDocument, strip};

use super::Tree;
use crate::compilation::{Compilation, CompiledFlow};

/// The document of one scope.
pub(super) struct Projection<'c> {
    pub(super) run_id: String,
    pub(super) project: Arc<Project>,
    pub(super) flows: Vec<&'c CompiledFlow>,
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
    let mut scopes: BTreeMap<(String, String), Vec<&CompiledFlow>> = BTreeMap::new();
    for flow in &compilation.flows {
        let scope = (flow.project.tenant().to_owned(), flow.project.repo());
        scopes.entry(scope).or_default().push(flow);
    }
    let is_single = scopes.len() == 1;
    let mut projections = Vec::new();
    for ((tenant_id, repo_id), flows) in scopes {
        let Some(first) = flows.first() else { continue };
        let project = Arc::clone(&first.project);
        let run_id = if is_single { compilation.run_id() } else { run_id(&tenant_id, &repo_id, &flows) };
        let knowledge = knowledge(&project.root)?;
        let document = lower(compilation, &flows, &tenant_id, &repo_id, knowledge.as_ref())?;
        let warnings = hold(&document, &project)?;
        projections.push(Projection { run_id, project, flows, document, knowledge, warnings });
    }
    Ok(projections)
}

/// A name that the same flows of the same scope always have.
fn run_id(tenant_id: &str, repo_id: &str, flows: &[&CompiledFlow]) -> String {
    let mut whole = format!("{tenant_id}\n{repo_id}");
    for flow in flows {
        whole.push_str(&format!("\n{}\n{}", flow.file_name, flow.text));
    }
    let digest = stave_canon::sha256_hex(whole);
    format!("run_{}", digest.get(..16).unwrap_or(&digest))
}

fn lower(
    compilation: &Compilation,
    flows: &[&CompiledFlow],
    tenant_id: &str,
    repo_id: &str,
    knowledge: Option<&Knowledge>,
) -> Result<SystemDocument, Stop> {
    let Some(first) = flows.first() else { return Err(Stop::internal("a scope without flows")) };
    let project = &first.project;
    let policy_ref = project.policy_ref();
    let policy_path = project.root.join(project::POLICIES).join(format!("{policy_ref}.json"));
    let policy_sha256 = policy_path.is_file().then(|| files::read_text(&policy_path)).transpose()?;
    let settings = SystemSettings {
        tenant_id: tenant_id.to_owned(),
        repo_id: repo_id.to_owned(),
        policy_ref,
        policy_sha256: policy_sha256.map(stave_canon::sha256_hex),
        default_model: project.settings.default_model.clone(),
    };
    let mut system_flows = Vec::new();
    let mut workflows = Vec::new();
    for flow in flows {
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
fn knowledge(root: &Path) -> Result<Option<Knowledge>, Stop> {
    let folder = root.join(project::KNOWLEDGE);
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut sources = Sources::new();
    let mut knowledge_files = Vec::new();
    for path in files::below(&folder)? {
        let text = files::read_text(&path)?;
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let source = sources.add(files::shown(&path).display().to_string(), text.as_str());
        knowledge_files.push(KnowledgeFile { source, name, text });
    }
    let (knowledge, diagnostics) = read_knowledge(&knowledge_files);
    if diagnostics.iter().any(Diagnostic::is_error) {
        let shown = render::short::render(&diagnostics, &sources);
        return Err(Stop::invalid(format!("the knowledge folder has mistakes:\n{}", shown.trim_end())));
    }
    Ok(Some(knowledge).filter(|knowledge| !knowledge.is_empty()))
}

impl Projection<'_> {
    /// Passes on what the policies only warn of.
    pub(super) fn warn(&self, tree: &mut Tree) {
        for warning in &self.warnings {
            tree.warn(warning.clone());
        }
    }

    /// Makes the bundle, and holds it to the project's policies.
    pub(super) fn bundle(&self) -> Result<Bundled, Stop> {
        let specifications = specifications(&self.run_id, &self.document);
        let intent = system_intent(&self.document);
        let policies = self.project.settings.checks;
        let bundle = Bundle::emit(BundleSource {
            run_id: &self.run_id,
            document: &self.document,
            intent: Some(&intent),
            orchestration: &specifications.orchestration,
            coordination: &specifications.coordination,
            delivery_plan: None,
            options: BundleOptions {
                strict_alignment: policies.intent_alignment == Level::Error,
                ..BundleOptions::default()
            },
        })
        .map_err(|error| Stop::invalid(error.to_string()))?;
        Ok(Bundled { bundle, specifications, intent })
    }

    /// The name of a flow's files, by the flow's own name.
    pub(super) fn file_name(&self, flow: &str) -> Option<&str> {
        let named = self.flows.iter().find(|compiled| {
            let own = compiled
                .flow()
                .and_then(|flow| flow.metadata.name.as_ref())
                .map(|name| name.as_str().to_owned());
            own.as_deref().map(strip) == Some(strip(flow))
        });
        named.map(|compiled| compiled.file_name.as_str())
    }
}
