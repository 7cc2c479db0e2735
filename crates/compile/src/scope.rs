//! The flows of one tenant and repository, and what else their outputs are made from.
//!
//! Invariant: the run id follows from everything that changes an output, so two compiles with one run id have the same
//! outputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use stave_canon::sha256_hex;
use stave_project::exit::Stop;
use stave_project::files;
use stave_project::image_files::image_files;
use stave_project::{self as project, Project};
use stave_system::knowledge::{SNAPSHOT_PATH, snapshot_path_of};

use crate::compilation::{Compilation, CompiledFlow};

pub(crate) struct Scope<'c> {
    pub(crate) run_id: String,
    pub(crate) tenant_id: String,
    pub(crate) repo_id: String,
    pub(crate) project: Arc<Project>,
    pub(crate) flows: Vec<&'c CompiledFlow>,
    /// The files of the project's `knowledge/` folder.
    pub(crate) knowledge: Vec<ScopeFile>,
    /// Of the policy set's text, when the project has one of its own.
    pub(crate) policy_sha256: Option<String>,
    /// Where the snapshot of the knowledge is kept, below the output folder.
    pub(crate) snapshot_path: String,
    /// What goes into the images of services beside their artefacts; none where no flow is deployed.
    pub(crate) image_files: BTreeMap<String, Vec<u8>>,
    /// SHA-256 of every source, by its name in the project.
    pub(crate) input_hashes: BTreeMap<String, String>,
}

/// A file that is no flow.
pub(crate) struct ScopeFile {
    /// Its path below the project.
    pub(crate) name: String,
    /// Its path as people read it.
    pub(crate) shown: String,
    pub(crate) text: String,
}

/// The scopes of a compilation, in order of tenant and repository.
pub(crate) fn scopes(compilation: &Compilation) -> Result<Vec<Scope<'_>>, Stop> {
    let mut flows_of: BTreeMap<(String, String), Vec<&CompiledFlow>> = BTreeMap::new();
    for flow in &compilation.flows {
        let owner = (flow.project.tenant().to_owned(), flow.project.repo());
        flows_of.entry(owner).or_default().push(flow);
    }
    let is_single = flows_of.len() == 1;
    let mut scopes = Vec::new();
    for ((tenant_id, repo_id), flows) in flows_of {
        let Some(first) = flows.first() else { continue };
        let project = Arc::clone(&first.project);
        let knowledge = knowledge_files(&project)?;
        let policy = project.root.join(project::POLICIES).join(format!("{}.json", project.policy_ref()));
        let policy_sha256 = policy.is_file().then(|| files::read_text(&policy)).transpose()?.map(sha256_hex);
        let mut input_hashes: BTreeMap<String, String> = flows
            .iter()
            .map(|flow| (flow.source.name.clone(), sha256_hex(flow.source.text.as_bytes())))
            .collect();
        input_hashes.extend(knowledge.iter().map(|file| (file.name.clone(), sha256_hex(&file.text))));
        if let Some(sha256) = &policy_sha256 {
            let name = format!("{}/{}.json", project::POLICIES, project.policy_ref());
            input_hashes.insert(name, sha256.clone());
        }
        let is_deployed =
            flows.iter().any(|flow| flow.flow().is_some_and(|flow| flow.deployment.as_ref().is_some()));
        let image_files = if is_deployed { image_files(&project)? } else { BTreeMap::new() };
        // The settings that change an output are in the run id. The rest of the file changes images alone, and their tags.
        let inputs = image_files.iter().filter(|(name, _)| *name != project::FILE);
        input_hashes.extend(inputs.map(|(name, bytes)| (name.clone(), sha256_hex(bytes))));
        let run_id = run_id(&tenant_id, &repo_id, &project, &flows, &input_hashes);
        let snapshot_path = if is_single { SNAPSHOT_PATH.to_owned() } else { snapshot_path_of(&run_id) };
        scopes.push(Scope {
            run_id,
            tenant_id,
            repo_id,
            project,
            flows,
            knowledge,
            policy_sha256,
            snapshot_path,
            image_files,
            input_hashes,
        });
    }
    Ok(scopes)
}

/// The run id of a whole compilation: that of its scope, or one that follows from those of its scopes.
pub(crate) fn compilation_run_id(compilation: &Compilation) -> Result<String, Stop> {
    let scopes = scopes(compilation)?;
    let ids: Vec<&str> = scopes.iter().map(|scope| scope.run_id.as_str()).collect();
    Ok(match ids.as_slice() {
        [only] => (*only).to_owned(),
        ids => short(&ids.join("\n")),
    })
}

fn run_id(
    tenant_id: &str,
    repo_id: &str,
    project: &Project,
    flows: &[&CompiledFlow],
    input_hashes: &BTreeMap<String, String>,
) -> String {
    // The settings that outputs are made from; others, such as those of signing, change none.
    let own = &project.settings;
    let settings = (&own.default_model, own.checks, &own.deploy, project.bundle_options());
    let mut whole = format!("{tenant_id}\n{repo_id}\n{settings:?}");
    for flow in flows {
        whole.push_str(&format!("\n{}\n{}", flow.file_name, flow.text));
    }
    for (name, sha256) in input_hashes {
        whole.push_str(&format!("\n{name}\n{sha256}"));
    }
    short(&whole)
}

fn short(whole: &str) -> String {
    let digest = sha256_hex(whole);
    format!("run_{}", digest.get(..16).unwrap_or(&digest))
}

fn knowledge_files(project: &Project) -> Result<Vec<ScopeFile>, Stop> {
    let folder = project.root.join(project::KNOWLEDGE);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let paths = files::below(&folder)?;
    let read = paths.into_iter().map(|path| {
        let name = path.strip_prefix(&project.root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let shown = files::shown(&path).display().to_string();
        Ok(ScopeFile { name, shown, text: files::read_text(&path)? })
    });
    read.collect()
}
