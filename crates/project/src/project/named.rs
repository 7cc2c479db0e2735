//! Names in `stave.toml` of what the project has: its flows, their nodes and context fields, its tool servers.
//!
//! A setting about something that is not there would be obeyed by nobody, and nobody would notice.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use stave_diag::codes::project as codes;
use stave_diag::{Diagnostic, Fix, Severity, SourceId, Span, did_you_mean};
use stave_flow::model::Flow;
use stave_shape::ValueNode;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::toml_node::TomlNode;

/// The kinds of artefacts that can have a least version of their own.
const ARTEFACTS: [&str; 3] = ["runtime_bundle", "run_manifest", "system_ir"];

/// What settings can name.
#[derive(Debug, Default)]
pub struct KnownNames {
    /// The outputs of each flow, as `NODE.OUTPUT`.
    flows: BTreeMap<String, BTreeSet<String>>,
    fields: BTreeSet<String>,
}

impl KnownNames {
    pub fn add(&mut self, flow: &Flow) {
        let Some(name) = &flow.metadata.name else { return };
        let outputs = self.flows.entry(name.as_str().to_owned()).or_default();
        for node in flow.nodes.values() {
            let ports = node.outputs.iter().chain(&node.error);
            outputs.extend(ports.map(|port| format!("{}.{}", node.id.value, port.name.as_str())));
        }
        self.fields.extend(flow.context.fields().map(|field| field.as_str().to_owned()));
        let deployed = flow.deployment.iter().flat_map(|deployment| &deployment.context);
        self.fields.extend(deployed.flat_map(|context| context.fields.keys().cloned()));
    }
}

/// Whether a project file names something that only its flows can say.
pub fn names_flows(text: &str) -> bool {
    ["minimum", "declassify", "labels", "accepts"].iter().any(|part| text.contains(part))
}

/// What a project file names that is not there.
pub fn unknown_names(source: SourceId, text: &str, known: &KnownNames) -> Vec<Diagnostic> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    let root = Spanned::new(table.span(), DeValue::Table(table.into_inner()));
    let at = |path: [&str; 2]| {
        let [first, second] = path;
        TomlNode(&root).member(first).and_then(|table| table.member(second))
    };
    let mut found = Vec::new();
    let mut report =
        |severity: Severity, range: Option<Range<usize>>, name: &str, what: &str, near: Option<String>| {
            let range = range.unwrap_or(0..0);
            let quote = text.get(range.clone()).and_then(|text| text.chars().next());
            let quote =
                quote.filter(|first| matches!(first, '"' | '\'')).map(String::from).unwrap_or_default();
            let span = Span::new(source, range.start, range.end);
            let diagnostic = Diagnostic::new(codes::BAD_PROJECT_VALUE, span, format!("`{name}`: {what}"))
                .severity(severity);
            found.push(match near {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(Fix::replace(
                    format!("write `{near}`"),
                    span,
                    format!("{quote}{near}{quote}"),
                )),
                None => diagnostic.help("correct the name, or remove the setting"),
            });
        };
    let flows = || known.flows.keys().map(String::as_str);
    if let Some(minimum) = at(["signing", "minimum"]) {
        minimum.members(|key, _| {
            let name = key.text;
            if name != "*" && !ARTEFACTS.contains(&name) && !known.flows.contains_key(name) {
                let near = did_you_mean(name, flows().chain(ARTEFACTS)).map(str::to_owned);
                report(
                    Severity::Error,
                    key.span,
                    name,
                    "no flow of the project and no kind of artefact has this name",
                    near,
                );
            }
        });
    }
    if let Some(declassify) = at(["labels", "declassify"]) {
        declassify.members(|key, _| {
            let Some((flow, output)) = key.text.split_once('/') else { return };
            match known.flows.get(flow) {
                None => {
                    let near = did_you_mean(flow, flows()).map(|near| format!("{near}/{output}"));
                    report(Severity::Error, key.span, key.text, "no flow of the project has this name", near);
                }
                Some(outputs) if !outputs.contains(output) => {
                    let near = did_you_mean(output, outputs.iter().map(String::as_str));
                    let near = near.map(|near| format!("{flow}/{near}"));
                    report(Severity::Error, key.span, key.text, "the flow has no such output", near);
                }
                Some(_) => {}
            }
        });
    }
    if let Some(fields) = at(["labels", "context"]) {
        fields.members(|key, _| {
            if !known.fields.contains(key.text) {
                let near = did_you_mean(key.text, known.fields.iter().map(String::as_str)).map(str::to_owned);
                report(
                    Severity::Warning,
                    key.span,
                    key.text,
                    "no flow of the project has this context field",
                    near,
                );
            }
        });
    }
    if let Some(tools) = at(["accepts", "tools"]) {
        let mut servers = BTreeSet::new();
        if let Some(mcp) = TomlNode(&root).member("mcp") {
            mcp.members(|key, _| {
                servers.insert(key.text.to_owned());
            });
        }
        tools.members(|key, _| {
            let (server, rest) = key.text.split_once('/').unwrap_or((key.text, ""));
            if !rest.is_empty() && !servers.contains(server) {
                let near = did_you_mean(server, servers.iter().map(String::as_str));
                let near = near.map(|near| format!("{near}/{rest}"));
                report(
                    Severity::Warning,
                    key.span,
                    key.text,
                    "there is no tool server of this name under `[mcp]`",
                    near,
                );
            }
        });
    }
    found
}
