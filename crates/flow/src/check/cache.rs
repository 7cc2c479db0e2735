//! Results are cached only where a repeated answer is as good as a fresh one.

use std::collections::HashMap;

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_script::Read;

use super::context_uses;
use super::subject::Subject;
use crate::graph;
use crate::model::{Flow, Node, Text};

/// By cached node, the context fields that its result may depend on; `None` when all may matter.
#[must_use]
pub fn cached_contexts(flow: &Flow) -> HashMap<&str, Option<Vec<String>>> {
    if !flow.nodes.values().any(|node| node.runtime.cache.is_some()) {
        return HashMap::new();
    }
    // Made once: it reads the code and the templates of all nodes.
    let options = super::CheckOptions::default();
    let subject = Subject::new(flow, &options);
    let cached = flow.nodes.values().filter(|node| node.runtime.cache.is_some());
    cached.map(|node| (node.id.as_str(), context_of(&subject, node))).collect()
}

/// The context fields that a node's cached result may depend on.
fn context_of(subject: &Subject<'_>, node: &Node) -> Option<Vec<String>> {
    let of_code = subject.code.get(node.id.as_str()).into_iter().flat_map(|code| &code.facts.reads.values);
    let of_prompt =
        subject.templates(node).iter().flat_map(|(_, found)| found.reads.iter().map(|(read, _)| read));
    let mut used: Vec<String> = context_uses::of(subject, node).into_iter().map(|(name, _)| name).collect();
    for read in of_code.chain(of_prompt) {
        match read {
            Read::EveryContextField => return None,
            Read::Context(name) => used.push(name.clone()),
            Read::Input(_) | Read::EveryInput | Read::Reply => {}
        }
    }
    used.extend(node.runtime.requires_context.iter().map(Text::as_str).map(str::to_owned));
    used.sort();
    used.dedup();
    Some(used)
}

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let Some(cache) = &node.runtime.cache else { continue };
        if let Some(actor) = graph::effect(subject.flow, node) {
            let actor = effect_words(node, actor);
            let message = format!("{actor} has effects, and a cached answer would leave them out");
            diagnostics.push(
                Diagnostic::new(codes::CACHED_EFFECT, cache.key_span, message)
                    .help("remove `cache` from the node"),
            );
        } else if let (Some(reason), true) = (varies(subject, node), cache.key.is_absent()) {
            let message =
                format!("node `{}` {reason}, and its inputs alone do not tell answers apart", node.id.value);
            diagnostics.push(
                Diagnostic::new(codes::UNKEYED_CACHE, cache.key_span, message)
                    .help("add a `key` such as `\"{session_id}\"` to `cache`, or remove it"),
            );
        }
    }
}

/// Who has the effects of a node, in words.
pub(crate) fn effect_words(node: &Node, actor: &Node) -> String {
    let op = actor.op().filter(|_| actor.writes());
    match (op, actor.id.value == node.id.value) {
        (Some(op), true) => format!("`{op}`"),
        (None, true) => format!("a tool of `{}`", node.id.value),
        (_, false) => format!("`{}`, which it runs,", actor.id.value),
    }
}

/// What besides its inputs a node's answer depends on.
fn varies(subject: &Subject<'_>, node: &Node) -> Option<&'static str> {
    if node.state.is_read() {
        return Some("has state");
    }
    let reads_time = context_uses::of(subject, node).iter().any(|(name, _)| name == "event_time");
    reads_time.then_some("reads the time")
}
