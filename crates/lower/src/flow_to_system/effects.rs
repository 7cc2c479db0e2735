//! What a flow node really touches: hosts and providers, secrets by name, tools.

use std::collections::BTreeSet;

use stave_flow::model::{Model, Node, Prompt, Text};
use stave_operations::LLM_CHAT;
use stave_system::model::EffectAnnotation;

use super::Lowering;
use crate::step_effects::{file_read, model_key};

/// What a model step calls.
pub(super) const COMPLETE: &str = "llm.complete";

/// One model that a node may ask.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModelUse {
    pub(super) provider: String,
    pub(super) name: String,
    pub(super) endpoint: Option<String>,
}

impl Lowering<'_> {
    pub(super) fn effects(&self, node: &Node) -> EffectAnnotation {
        let mut tools = BTreeSet::new();
        if let Some(op) = node.op() {
            tools.insert(op.to_owned());
        }
        if let Some(prompt) = node.prompt.as_ref() {
            tools.insert(COMPLETE.to_owned());
            for tool in &prompt.tools {
                let mcp = tool.mcp.as_ref().map(|mcp| format!("mcp:{}", mcp.as_str()));
                tools
                    .extend(mcp.or_else(|| tool.name.as_ref().map(|name| format!("tool:{}", name.as_str()))));
            }
        }
        let mut secrets = secrets(node);
        secrets.extend(self.models(node).iter().filter_map(key_name));
        let references = node.prompt.as_ref().into_iter().flat_map(|prompt| prompt.context_refs.iter());
        let files: BTreeSet<String> = references.filter_map(|text| file_read(text.as_str())).collect();
        let asks_model = node.prompt.is_read() && LLM_CHAT.network;
        EffectAnnotation {
            network: asks_model || node.descriptor().is_some_and(|operation| operation.network),
            fs_read: files.into_iter().collect(),
            secrets: secrets.into_iter().collect(),
            tools: tools.into_iter().collect(),
            ..EffectAnnotation::default()
        }
    }

    /// The models that a node may ask: its own, else the project's, and its fallback.
    pub(super) fn models(&self, node: &Node) -> BTreeSet<ModelUse> {
        let Some(prompt) = node.prompt.as_ref() else { return BTreeSet::new() };
        let own = prompt.model.as_ref().map(model_use).or_else(|| {
            let default = self.source.settings.default_model.as_ref()?;
            Some(ModelUse {
                provider: default.provider.clone(),
                name: default.name.clone(),
                endpoint: default.endpoint.clone(),
            })
        });
        own.into_iter().chain(fallback(prompt)).collect()
    }
}

fn fallback(prompt: &Prompt) -> Option<ModelUse> {
    prompt.fallback.as_ref()?.model.as_ref().map(model_use)
}

fn model_use(model: &Model) -> ModelUse {
    let text = |text: &Option<Text>| text.as_ref().map_or_else(String::new, |text| text.as_str().to_owned());
    ModelUse {
        provider: text(&model.provider),
        name: text(&model.name),
        endpoint: model.endpoint.as_ref().map(|endpoint| endpoint.as_str().to_owned()),
    }
}

/// The secret that a provider's own endpoint needs.
pub(super) fn key_name(model: &ModelUse) -> Option<String> {
    model_key(&model.provider, model.endpoint.as_deref())
}

/// The names in `${secrets.NAME}` anywhere in the node's arguments and endpoints.
fn secrets(node: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let arguments = node.transform.as_ref().and_then(|transform| transform.operation()?.args.as_ref());
    if let Some(arguments) = arguments {
        arguments.each_text(&mut |text| names.extend(secret_names(text.as_str())));
    }
    if let Some(prompt) = node.prompt.as_ref() {
        let models =
            [prompt.model.as_ref(), prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref())];
        for endpoint in models.into_iter().flatten().filter_map(|model| model.endpoint.as_ref()) {
            names.extend(secret_names(endpoint.as_str()));
        }
    }
    names
}

pub(crate) fn secret_names(text: &str) -> impl Iterator<Item = String> {
    text.split("${").skip(1).filter_map(|rest| {
        let (inside, _) = rest.split_once('}')?;
        let name = inside.trim().strip_prefix("secrets.")?.trim_end_matches('?').trim();
        Some(name.to_owned()).filter(|name| !name.is_empty())
    })
}

/// Adds one set of effects to another.
pub(super) fn add(effects: &mut EffectAnnotation, more: EffectAnnotation) {
    effects.network |= more.network;
    let lists = [
        (&mut effects.fs_read, more.fs_read),
        (&mut effects.fs_write, more.fs_write),
        (&mut effects.secrets, more.secrets),
        (&mut effects.tools, more.tools),
    ];
    for (list, more) in lists {
        list.extend(more);
        list.sort();
        list.dedup();
    }
}
