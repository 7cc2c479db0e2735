//! Deployment settings.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, did_you_mean};

use super::fields::{Fields, Reader, wrong_type};
use crate::model::{
    ContextSource, Deployment, DeploymentContext, DeploymentTarget, Kserve, Resources, Spanned,
};
use crate::yaml::{Tree, TreeValue, YamlEntry};

pub(super) fn deployment(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Deployment> {
    let key = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key, "`deployment`".to_owned())?;
    let words = [
        ("kserve", DeploymentTarget::Kserve),
        ("lambda", DeploymentTarget::Lambda),
        ("local", DeploymentTarget::Local),
    ];
    let target = fields.required(reader, "target").and_then(|entry| fields.word(reader, entry, &words));
    let kserve = fields.optional("kserve").and_then(|entry| kserve(reader, entry));
    let context = fields.readable("context", |entry| context(reader, entry));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Deployment { key, span, target, kserve, context, extra })
}

fn kserve(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Kserve> {
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, "`kserve` of `deployment`".to_owned())?;
    let namespace = fields.text(reader, "namespace");
    let service_name = fields.text(reader, "service_name");
    let min_replicas = fields.count(reader, "min_replicas", 0);
    let max_replicas = fields.count(reader, "max_replicas", 1);
    let target_rps = fields.number(reader, "target_rps");
    let resources = fields.optional("resources").and_then(|entry| resources(reader, entry));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Kserve { span, namespace, service_name, min_replicas, max_replicas, target_rps, resources, extra })
}

fn resources(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Resources> {
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, "`resources` of `kserve`".to_owned())?;
    let cpu = fields.text(reader, "cpu");
    let memory = fields.text(reader, "memory");
    let gpu = fields.text(reader, "gpu");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Resources { span, cpu, memory, gpu, extra })
}

fn context(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<DeploymentContext> {
    let path = "`context` of `deployment`";
    let Some(entries) = entry.value.entries() else {
        wrong_type(reader, &entry.value, entry.key.span, path, "a mapping from field to source");
        return None;
    };
    for entry in entries {
        misspelt_source(reader, entry);
    }
    let fields = entries
        .iter()
        .map(|entry| (entry.key.value.clone(), Spanned::new(context_source(&entry.value), entry.key.span)));
    Some(DeploymentContext { span: entry.value.span, fields: fields.collect() })
}

/// What a field can be taken from.
const SOURCES: [&str; 3] = ["env", "header", "value"];

/// A constant with one key that is almost a source would be sent as it is, which nobody means.
fn misspelt_source(reader: &mut Reader<'_>, entry: &YamlEntry) {
    let Some([only]) = entry.value.entries() else { return };
    let key = only.key.as_str();
    if SOURCES.contains(&key) {
        return;
    }
    if let Some(near) = did_you_mean(key, SOURCES) {
        let field = entry.key.as_str();
        let message = format!("`{field}` of `context` cannot be taken from `{key}`");
        reader.report(
            Diagnostic::new(codes::UNKNOWN_WORD, only.key.span, message)
                .help(format!("did you mean `{near}`? A constant with this key is `value: {{{key}: …}}`")),
        );
    }
}

/// Anything that does not name a source is a constant.
fn context_source(tree: &Tree) -> ContextSource {
    let only = match tree.entries() {
        Some([only]) => Some((only.key.as_str(), &only.value)),
        _ => None,
    };
    match only {
        Some(("value", value)) => ContextSource::Constant(value.to_value()),
        Some(("env", Tree { value: TreeValue::String(name), .. })) => {
            ContextSource::Environment(name.as_str().to_owned())
        }
        Some(("header", Tree { value: TreeValue::String(name), .. })) => {
            ContextSource::Header(name.as_str().to_owned())
        }
        _ => ContextSource::Constant(tree.to_value()),
    }
}
