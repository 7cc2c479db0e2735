//! Semantic differences between two flows: nodes, ports, edges, prompts, state and settings. Positions and
//! comments are told apart from the meaning; order and layout are not differences.

mod compare;
mod show;

use stave_canon::Value;
use stave_diag::SourceId;

pub(crate) use compare::renamed;
pub use show::{Shown, show};

use crate::yaml::{self, YamlDocument};

/// Everything in which two flows differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diff {
    /// What changes the meaning, in the order of the later file.
    pub changes: Vec<FlowChange>,
    /// What moves nodes on the canvas, or the dates of editing.
    pub layout: Vec<FlowChange>,
    /// Comments that only the later text has.
    pub comments_added: Vec<String>,
    /// Comments that only the earlier text has.
    pub comments_removed: Vec<String>,
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowChange {
    pub kind: ChangeKind,
    pub part: FlowPart,
    /// A JSON Pointer, in which items of lists are named rather than counted.
    pub path: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Removed,
    Changed,
    /// A node that is the same under another id; `before` and `after` are the ids.
    Renamed,
}

/// What a difference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowPart {
    Metadata,
    Context,
    Node,
    Port,
    Edge,
    Prompt,
    Transform,
    State,
    Runtime,
    Deployment,
    Other,
}

impl Diff {
    /// Whether the two flows mean the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The JSON form.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let list = |changes: &[FlowChange]| Value::Array(changes.iter().map(FlowChange::to_value).collect());
        let comments = Value::from_iter([
            ("added", Value::from(self.comments_added.clone())),
            ("removed", Value::from(self.comments_removed.clone())),
        ]);
        Value::from_iter([
            ("same", Value::Bool(self.is_empty())),
            ("changes", list(&self.changes)),
            ("layout", list(&self.layout)),
            ("comments", comments),
        ])
    }
}

impl FlowChange {
    fn to_value(&self) -> Value {
        Value::from_iter([
            ("kind", Value::from(self.kind.word())),
            ("part", Value::from(self.part.word())),
            ("path", Value::from(self.path.as_str())),
            ("before", self.before.clone().unwrap_or_default()),
            ("after", self.after.clone().unwrap_or_default()),
        ])
    }
}

impl ChangeKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Added => "added",
            ChangeKind::Removed => "removed",
            ChangeKind::Changed => "changed",
            ChangeKind::Renamed => "renamed",
        }
    }
}

impl FlowPart {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            FlowPart::Metadata => "metadata",
            FlowPart::Context => "context",
            FlowPart::Node => "node",
            FlowPart::Port => "port",
            FlowPart::Edge => "edge",
            FlowPart::Prompt => "prompt",
            FlowPart::Transform => "transform",
            FlowPart::State => "state",
            FlowPart::Runtime => "runtime",
            FlowPart::Deployment => "deployment",
            FlowPart::Other => "other",
        }
    }
}

/// The differences of two documents' values; comments are left out.
#[must_use]
pub fn diff_values(before: &Value, after: &Value) -> Diff {
    compare::compare(before, after)
}

/// The differences of two texts. A text that is not YAML counts as empty.
#[must_use]
pub fn diff_texts(before: &str, after: &str) -> Diff {
    let read = |text: &str| yaml::read(SourceId(0), text);
    let (old, new) = (read(before), read(after));
    let value =
        |document: &YamlDocument| document.root.as_ref().map(yaml::Tree::to_value).unwrap_or_default();
    let mut diff = diff_values(&value(&old), &value(&new));
    let comments = |document: &YamlDocument, text: &str| -> Vec<String> {
        let texts = document.comments.iter().filter_map(|comment| text.get(comment.span.range()));
        texts.map(|text| text.trim_start_matches('#').trim().to_owned()).collect()
    };
    let (old, mut new) = (comments(&old, before), comments(&new, after));
    for comment in old {
        match new.iter().position(|other| *other == comment) {
            Some(index) => {
                new.remove(index);
            }
            None => diff.comments_removed.push(comment),
        }
    }
    diff.comments_added = new;
    diff
}
