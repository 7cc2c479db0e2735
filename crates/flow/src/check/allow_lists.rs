//! Secrets, variables and hosts that the project lists. The run refuses the rest, so a flow that names it is not wrong but
//! cannot work here: findings are warnings.

use std::collections::BTreeSet;

use stave_diag::codes::project as codes;
use stave_diag::codes::run::{CONTEXT_UNAVAILABLE, HOST_NOT_ALLOWED, TOOL_SERVER_FAILED};
use stave_diag::{Code, Diagnostic, Severity, Span};
use stave_operations::{ArgumentKind, Receiver};
use stave_script::address::{HostPort, written_host};
use stave_script::allow_list::{
    AllowLists, Unlisted, context_file_refusal, http_host_refusal, model_host_refusal, plant_refusal,
    secret_refusal, tool_server_refusal, unlisted_secret, variable_refusal,
};
use stave_script::interpolation::{self, PathStep};

use super::subject::Subject;
use crate::model::{ContextSource, Model, Operation, Text, Transform};
use crate::yaml::Tree;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(lists) = &subject.options.allow else { return };
    for node in subject.nodes() {
        if let Some(operation) = node.transform.as_ref().and_then(Transform::operation) {
            arguments(lists, operation, diagnostics);
        }
        let Some(prompt) = node.prompt.as_ref() else { continue };
        let fallback = prompt.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
        for model in prompt.model.iter().chain(fallback) {
            endpoint(lists, model, diagnostics);
        }
        let servers = prompt.tools.iter().filter_map(|tool| tool.mcp.as_ref());
        diagnostics.extend(servers.filter_map(|name| tool_server(lists, name)));
        diagnostics.extend(prompt.context_refs.iter().filter_map(|reference| file(lists, reference)));
    }
    let context = subject.flow.deployment.as_ref().and_then(|deployment| deployment.context.as_ref());
    for source in context.iter().flat_map(|context| context.fields.values()) {
        if let ContextSource::Environment(name) = &source.value {
            let refusal = variable_refusal(&lists.variables, name);
            diagnostics.extend(refusal.map(|found| warn(codes::UNLISTED_VARIABLE, source.span, found)));
        }
    }
}

/// The arguments of an operation: where its request goes, and the secrets that go along.
fn arguments(lists: &AllowLists, operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    let Some(args) = &operation.args else { return };
    let descriptor = operation.op.as_ref().and_then(|op| stave_operations::operation(op.as_str()));
    let address = descriptor.and_then(|descriptor| descriptor.arguments_of(ArgumentKind::Url).next());
    let url = address.and_then(|address| args.get(address.name)).and_then(Tree::text);
    let host = url.and_then(|url| written_host(url.as_str()));
    if let (Some(url), Some(host), Some(listed)) = (url, &host, &lists.http_hosts) {
        let refusal = http_host_refusal(listed, host);
        diagnostics.extend(refusal.map(|found| warn(HOST_NOT_ALLOWED, url.span, found)));
    }
    match descriptor.map(|descriptor| descriptor.receiver) {
        Some(Receiver::Host { address: name }) if address.is_none() => {
            let endpoint = args.get(name).and_then(Tree::text).filter(|text| !text.as_str().contains("${"));
            let refusal = endpoint.and_then(|text| {
                Some(warn(HOST_NOT_ALLOWED, text.span, plant_refusal(&lists.plants, text.as_str())?))
            });
            diagnostics.extend(refusal);
        }
        Some(Receiver::Tool { server, .. }) => {
            let name = args.get(server).and_then(Tree::text);
            diagnostics.extend(name.and_then(|name| tool_server(lists, name)));
        }
        _ => {}
    }
    let mut texts = Vec::new();
    args.each_text(&mut |text| texts.push(text));
    let mut told = BTreeSet::new();
    for (name, span) in texts.into_iter().flat_map(secrets) {
        diagnostics.extend(secret(lists, &name, host.as_ref(), span).filter(|_| told.insert(name)));
    }
}

/// A tool server that is written out.
fn tool_server(lists: &AllowLists, name: &Text) -> Option<Diagnostic> {
    let refusal = tool_server_refusal(&lists.tool_servers, name.as_str());
    let refusal = refusal.filter(|_| !name.as_str().contains("${"));
    refusal.map(|found| warn(TOOL_SERVER_FAILED, name.span, found))
}

/// A `file:` reference whose path is written out. Only the run knows what placeholders and wildcards stand for.
fn file(lists: &AllowLists, reference: &Text) -> Option<Diagnostic> {
    let path = reference.as_str().strip_prefix("file:")?;
    let is_written = !path.contains("${") && !path.contains(['*', '?', '[', '{', '%', '\\']);
    let path = match path.rsplit_once(['#', ':']) {
        Some((path, lines)) if lines.chars().all(|sign| sign.is_ascii_digit() || "L-".contains(sign)) => path,
        _ => path,
    };
    let refusal = context_file_refusal(&lists.context_files, path).filter(|_| is_written);
    refusal.map(|found| warn(CONTEXT_UNAVAILABLE, reference.span, found))
}

fn endpoint(lists: &AllowLists, model: &Model, diagnostics: &mut Vec<Diagnostic>) {
    let Some(endpoint) = &model.endpoint else { return };
    let host = written_host(endpoint.as_str());
    let own = model.provider.as_ref().and_then(|provider| lists.provider_hosts.get(provider.as_str()));
    let refusal =
        host.as_ref().and_then(|host| model_host_refusal(&lists.model_hosts, own.map(String::as_str), host));
    diagnostics.extend(refusal.map(|found| warn(HOST_NOT_ALLOWED, endpoint.span, found)));
    for (name, span) in secrets(endpoint) {
        diagnostics.extend(secret(lists, &name, host.as_ref(), span));
    }
}

/// What is wrong with a secret. Where only the run decides the host, only the run can refuse it.
fn secret(lists: &AllowLists, name: &str, host: Option<&HostPort>, span: Span) -> Option<Diagnostic> {
    let refusal = match host {
        Some(host) => secret_refusal(&lists.secrets, name, Some(host)),
        None => unlisted_secret(&lists.secrets, name, None),
    };
    refusal.map(|found| warn(codes::UNLISTED_SECRET, span, found))
}

/// The names of `${secrets.NAME}` in a text, each with its place.
fn secrets(text: &Text) -> Vec<(String, Span)> {
    let Ok(parsed) = interpolation::parse(text.as_str()) else { return Vec::new() };
    let named = parsed.placeholders().filter(|placeholder| placeholder.path.root == "secrets");
    let named = named.filter_map(|placeholder| match placeholder.path.steps.as_slice() {
        [(PathStep::Key(name), _)] => Some((name.clone(), text.at(placeholder.range.clone()))),
        _ => None,
    });
    named.collect()
}

fn warn(code: Code, span: Span, found: Unlisted) -> Diagnostic {
    Diagnostic::new(code, span, found.message).severity(Severity::Warning).help(found.help)
}
