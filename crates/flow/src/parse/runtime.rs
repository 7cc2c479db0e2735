//! Runtime settings and state.

use super::fields::{Fields, Reader};
use crate::model::{Backend, Cache, NodeStateScope, Runtime, State};
use crate::yaml::YamlEntry;

pub(super) fn runtime(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Runtime> {
    let owner = format!("`runtime` of {owner}");
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, owner.clone())?;
    let timeout_ms = fields.count(reader, "timeout_ms", 1);
    let retries = fields.count(reader, "retries", 0);
    let retry_backoff_ms = fields.count(reader, "retry_backoff_ms", 0);
    let requires_context = fields.texts(reader, "requires_context").unwrap_or_default();
    let concurrency = fields.count(reader, "concurrency", 1);
    let cache = fields.optional("cache").and_then(|entry| cache(reader, entry, &owner));
    let span = Some(fields.span);
    let extra = fields.finish(reader);
    Some(Runtime { span, timeout_ms, retries, retry_backoff_ms, requires_context, concurrency, cache, extra })
}

fn cache(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<Cache> {
    let key_span = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key_span, format!("`cache` of {owner}"))?;
    fields.required(reader, "ttl_seconds");
    let ttl_seconds = fields.count(reader, "ttl_seconds", 1);
    let key = fields.readable_text(reader, "key");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Cache { key_span, span, ttl_seconds, key, extra })
}

pub(super) fn state(reader: &mut Reader<'_>, entry: &YamlEntry, owner: &str) -> Option<State> {
    let key_span = entry.key.span;
    let mut fields = Fields::of(reader, &entry.value, key_span, format!("`state` of {owner}"))?;
    let words = [("request", NodeStateScope::Request), ("session", NodeStateScope::Session)];
    let scope = fields.required(reader, "scope").and_then(|entry| fields.word(reader, entry, &words));
    let key = fields.text(reader, "key");
    let ttl_seconds = fields.count(reader, "ttl_seconds", 1);
    let words = [("memory", Backend::Memory), ("redis", Backend::Redis), ("hopsworks", Backend::Hopsworks)];
    let backend = fields.optional("backend").and_then(|entry| fields.word(reader, entry, &words));
    let sensitivity = fields.sensitivity(reader, "sensitivity");
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(State { key_span, span, scope, key, ttl_seconds, backend, sensitivity, extra })
}
