//! Deployment settings.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::fields::{Fields, Reader, wrong_type};
use crate::model::{ContextSource, Deployment, DeploymentContext, Kserve, Resources, Spanned, Target, Text};
use crate::yaml::{Entry, Tree, TreeValue};

pub(super) fn deployment(reader: &mut Reader<'_>, entry: &Entry) -> Option<Deployment> {
    let key = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key, "`deployment`".to_owned())?;
    let words = [("kserve", Target::Kserve), ("lambda", Target::Lambda), ("local", Target::Local)];
    let target = fields.required(reader, "target").and_then(|entry| fields.word(reader, entry, &words));
    let kserve = fields.optional("kserve").and_then(|entry| kserve(reader, entry));
    let context = fields.optional("context").and_then(|entry| context(reader, entry));
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Deployment { key, span, target, kserve, context, extra })
}

fn kserve(reader: &mut Reader<'_>, entry: &Entry) -> Option<Kserve> {
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

fn resources(reader: &mut Reader<'_>, entry: &Entry) -> Option<Resources> {
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, "`resources` of `kserve`".to_owned())?;
    let cpu = fields.text(reader, "cpu");
    let memory = fields.text(reader, "memory");
    let gpu = fields.text(reader, "gpu");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Resources { span, cpu, memory, gpu, extra })
}

fn context(reader: &mut Reader<'_>, entry: &Entry) -> Option<DeploymentContext> {
    let path = "`context` of `deployment`";
    let Some(entries) = entry.value.entries() else {
        wrong_type(reader, &entry.value, entry.key.span, path, "a mapping from field to source");
        return None;
    };
    let fields = entries.iter().filter_map(|entry| {
        let source = context_source(reader, entry, path)?;
        Some((entry.key.value.clone(), Spanned::new(source, entry.key.span)))
    });
    Some(DeploymentContext { span: entry.value.span, fields: fields.collect() })
}

fn context_source(reader: &mut Reader<'_>, entry: &Entry, path: &str) -> Option<ContextSource> {
    let TreeValue::Mapping(entries) = &entry.value.value else {
        return Some(ContextSource::Constant(entry.value.to_value()));
    };
    let text = |tree: &Tree| tree.text().map(Text::as_str).map(str::to_owned);
    let source = match entries.as_slice() {
        [only] => match only.key.as_str() {
            "value" => Some(ContextSource::Constant(only.value.to_value())),
            "env" => text(&only.value).map(ContextSource::Environment),
            "header" => text(&only.value).map(ContextSource::Header),
            _ => None,
        },
        _ => None,
    };
    if source.is_none() {
        let message = format!("`{}` in {path} names no source", entry.key.value);
        reader.report(
            Diagnostic::new(codes::WRONG_TYPE, entry.key.span, message)
                .help("write `{value: …}`, `{env: NAME}` or `{header: NAME}`"),
        );
    }
    source
}
