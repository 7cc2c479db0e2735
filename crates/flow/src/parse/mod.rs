//! Tree to model: shapes, kinds and closed words. What needs more than one field is left to `check`.

mod deployment;
mod edge;
mod fields;
mod limits;
mod node;
mod prompt;
mod runtime;
mod test;

use std::collections::HashSet;

use indexmap::IndexMap;
use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Fix, SourceId, Span};

use crate::model::{Context, Flow, FormatVersion, Metadata, NodeMap, ReadableList, Sensitivity, Spanned};
use crate::yaml::{self, Comment, Tree, TreeValue, YamlEntry};
use fields::{Fields, Reader};

/// A flow text, read.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// Absent when the text is no mapping. With errors among the diagnostics it may have gaps.
    pub flow: Option<Flow>,
    pub diagnostics: Vec<Diagnostic>,
    /// The text as a tree, for hashing and editing. Absent when the text is not YAML.
    pub tree: Option<Tree>,
    /// In file order.
    pub comments: Vec<Comment>,
}

/// Reads a flow from YAML or JSON and reports every fault of its shape.
#[must_use]
pub fn parse(source: SourceId, text: &str) -> Parsed {
    let document = yaml::read(source, text);
    let mut reader = Reader { text, diagnostics: document.diagnostics, later_fields: Vec::new() };
    let flow = match &document.root {
        Some(root) => flow(&mut reader, source, root),
        None => {
            if reader.diagnostics.is_empty() {
                reader.report(not_a_flow(Span::new(source, 0, 0), "the file is empty"));
            }
            None
        }
    };
    Parsed { flow, diagnostics: reader.diagnostics, tree: document.root, comments: document.comments }
}

fn not_a_flow(span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(codes::NOT_A_FLOW, span, message)
        .help("a flow is a mapping with `version`, `metadata`, `context`, `nodes` and `edges`")
}

fn flow(reader: &mut Reader<'_>, source: SourceId, root: &Tree) -> Option<Flow> {
    if root.entries().is_none() {
        let message = match root.value {
            TreeValue::Null => "the file is empty".to_owned(),
            _ => format!("the file holds {} instead of a flow", root.kind()),
        };
        reader.report(not_a_flow(root.span, &message));
        return None;
    }
    // What the document lacks is missing at its beginning.
    let head = root.entries().and_then(|entries| entries.first()).map_or(root.span, |entry| entry.key.span);
    let mut fields = Fields::of(reader, root, head, "the flow".to_owned())?;
    let version = fields.required(reader, "version").and_then(|entry| version(reader, entry));
    let metadata = fields.required(reader, "metadata").and_then(|entry| metadata(reader, entry));
    let context = fields.required(reader, "context").and_then(|entry| context(reader, entry));
    let nodes = fields.required(reader, "nodes").map(|entry| nodes(reader, entry));
    let edges = fields.required(reader, "edges").map(|entry| edge::edges(reader, entry));
    let deployment = fields.readable("deployment", |entry| deployment::deployment(reader, entry));
    let runtime = fields.optional("runtime").and_then(|entry| limits::flow_runtime(reader, entry));
    let tests = fields.optional("tests").map(|entry| test::tests(reader, entry)).unwrap_or_default();
    let extra = fields.finish(reader);
    Some(Flow {
        source,
        span: root.span,
        version,
        metadata: metadata.unwrap_or_else(|| no_metadata(head)),
        context: context.unwrap_or_else(|| Context {
            span: head,
            requires: ReadableList::unreadable(),
            optional: ReadableList::unreadable(),
            sensitivity: Vec::new(),
            extra: Vec::new(),
        }),
        nodes: nodes.unwrap_or_else(NodeMap::unreadable),
        edges: edges.unwrap_or_else(ReadableList::unreadable),
        deployment,
        runtime,
        tests,
        later_fields: std::mem::take(&mut reader.later_fields),
        extra,
    })
}

fn no_metadata(span: Span) -> Metadata {
    Metadata {
        span,
        name: None,
        description: None,
        author: None,
        created_at: None,
        modified_at: None,
        tags: ReadableList::unreadable(),
        extra: Vec::new(),
    }
}

fn version(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Spanned<FormatVersion>> {
    let span = entry.value.span;
    let (text, quoted) = match &entry.value.value {
        TreeValue::String(text) => (text.as_str().to_owned(), true),
        TreeValue::Number(_) => (reader.raw(span).to_owned(), false),
        _ => (entry.value.kind().to_owned(), true),
    };
    let (major, minor) = text.split_once('.').unwrap_or((text.as_str(), "0"));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = (major.parse::<u64>(), minor.parse::<u64>());
    let (Ok(major), Ok(minor), true) = (parts.0, parts.1, digits(major) && digits(minor)) else {
        let message = format!("`{text}` is not a version of the flow format");
        reader.report(
            Diagnostic::new(codes::UNSUPPORTED_VERSION, span, message)
                .help("write `version: \"1.0\"`")
                .fix(Fix::replace("write `\"1.0\"`", span, "\"1.0\"")),
        );
        return None;
    };
    Some(Spanned::new(FormatVersion { major, minor, quoted }, span))
}

fn metadata(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Metadata> {
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, "`metadata`".to_owned())?;
    let name = fields.required_text(reader, "name");
    let description = fields.text(reader, "description");
    let author = fields.text(reader, "author");
    let created_at = fields.text(reader, "created_at");
    let modified_at = fields.text(reader, "modified_at");
    let tags = fields.texts(reader, "tags").unwrap_or_default();
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Metadata { span, name, description, author, created_at, modified_at, tags, extra })
}

fn context(reader: &mut Reader<'_>, entry: &YamlEntry) -> Option<Context> {
    let mut fields = Fields::of(reader, &entry.value, entry.key.span, "`context`".to_owned())?;
    let requires = fields.required(reader, "requires");
    let requires = requires.map(|entry| fields.text_list(reader, entry, "requires"));
    let optional = fields.texts(reader, "optional").unwrap_or_default();
    let sensitivity = fields.optional("sensitivity").map(|entry| labels(reader, entry)).unwrap_or_default();
    let span = fields.span;
    let extra = fields.finish(reader);
    Some(Context {
        span,
        requires: requires.unwrap_or_else(ReadableList::unreadable),
        optional,
        sensitivity,
        extra,
    })
}

/// How confidential fields are, by name.
fn labels(reader: &mut Reader<'_>, entry: &YamlEntry) -> Vec<(Spanned<String>, Spanned<Sensitivity>)> {
    let owner = "`sensitivity` of `context`".to_owned();
    let Some(fields) = Fields::of(reader, &entry.value, entry.key.span, owner) else { return Vec::new() };
    let words = Sensitivity::ALL.map(|sensitivity| (sensitivity.word(), sensitivity));
    let entries = entry.value.entries().unwrap_or_default();
    let labelled =
        entries.iter().filter_map(|entry| Some((entry.key.clone(), fields.word(reader, entry, &words)?)));
    labelled.collect()
}

fn nodes(reader: &mut Reader<'_>, entry: &YamlEntry) -> NodeMap {
    let Some(entries) = entry.value.entries() else {
        fields::wrong_type(reader, &entry.value, entry.key.span, "`nodes` of the flow", "a mapping");
        return NodeMap::unreadable();
    };
    let (mut read, mut unreadable) = (IndexMap::with_capacity(entries.len()), HashSet::new());
    for entry in entries {
        let id = entry.key.value.clone();
        match node::node(reader, entry) {
            Some(node) => {
                read.insert(id, node);
            }
            None => {
                unreadable.insert(id);
            }
        }
    }
    NodeMap::new(read, unreadable)
}
