//! YAML flows: checked and lowered with the settings of their project.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_diag::{Diagnostic, Sources};
use stave_flow::CheckOptions;
use stave_flow::model::Flow;
use stave_lower::{DefaultModel, ExecSettings, flow_to_exec};
use stave_project::exit::Stop;
use stave_project::source_kind::SourceKind;
use stave_project::{certain_refusals, governance, services};
use stave_prompt::compile::Templates;

use super::cache::Key;
use super::compilation::{Lowered, NO_TIME};
use super::sources::SourceFile;

/// What the projects of the sources bake into their documents, by the project's root.
#[derive(Debug)]
pub(super) struct Settings(HashMap<PathBuf, Baked>);

#[derive(Debug)]
struct Baked {
    policy_ref: String,
    policy: Object,
    default_model: Option<DefaultModel>,
    templates: Templates,
    options: CheckOptions,
    /// Everything above as one text, for cache keys.
    digest: String,
}

impl Settings {
    pub(super) fn of(files: &[Arc<SourceFile>]) -> Result<Settings, Stop> {
        let mut settings = HashMap::new();
        for file in files.iter().filter(|file| file.kind == SourceKind::Flow) {
            if settings.contains_key(&file.project.root) {
                continue;
            }
            let policy_ref = file.project.policy_ref();
            let policy = services::policy(&file.project)?;
            let default_model = file.project.settings.default_model.clone();
            let templates = governance::templates(&file.project)?;
            let shown = Value::from_iter([
                ("policy_ref", Value::from(policy_ref.as_str())),
                ("policy", policy.clone().into()),
                ("default_model", format!("{default_model:?}").into()),
                ("templates", templates.to_value()),
            ]);
            let digest = stave_canon::sha256_hex(shown.to_string());
            let options = file.project.check_options(false)?;
            let baked = Baked { policy_ref, policy, default_model, templates, options, digest };
            settings.insert(file.project.root.clone(), baked);
        }
        Ok(Settings(settings))
    }

    pub(super) fn key(&self, file: &SourceFile, strict: bool) -> Key {
        let baked = self.0.get(&file.project.root).map_or("", |baked| baked.digest.as_str());
        let dialect = if strict { "flow strict" } else { "flow" };
        Key::of(&[dialect, baked, &file.name, &file.text])
    }
}

/// The flow of a source that has no errors.
pub(super) fn parse(file: &SourceFile) -> Option<Flow> {
    if file.kind == SourceKind::Flow { stave_flow::parse(file.id, &file.text).flow } else { None }
}

pub(super) fn lower(
    file: &SourceFile,
    sources: &Sources,
    settings: &Settings,
    strict: bool,
) -> (Option<Lowered>, Vec<Diagnostic>) {
    let baked = settings.0.get(&file.project.root);
    let options = baked.map(|baked| baked.options.clone()).unwrap_or_default();
    let mut parsed = stave_flow::load(file.id, &file.text, &CheckOptions { strict, ..options });
    // Which hosts and secrets are listed is up to the project that runs the compiled document.
    certain_refusals::raise(&mut parsed.diagnostics, false);
    let is_invalid = parsed.diagnostics.iter().any(Diagnostic::is_error);
    let lowered = parsed.flow.zip(baked).filter(|_| !is_invalid).map(|(flow, baked)| {
        let settings = ExecSettings {
            policy_ref: baked.policy_ref.clone(),
            policy: baked.policy.clone(),
            default_model: baked.default_model.clone(),
            templates: baked.templates.clone(),
            generated_at: NO_TIME.to_owned(),
            source_file: file.name.clone(),
        };
        let document = flow_to_exec(&flow, sources, &settings);
        Lowered { document, triggers: Vec::new(), flow: Some(flow) }
    });
    (lowered, parsed.diagnostics)
}
