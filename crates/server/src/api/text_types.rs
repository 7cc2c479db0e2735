//! Bodies about a flow's text: places in it, what is wrong with it, edits, and what an editor asks.

use stave_canon::Value;
use stave_flow::diff::{self, ChangeKind, FlowChange};
use stave_flow::edit::{FlowEdit, request_schema};
use stave_shape::{Definitions, FaultKind, Nullable, Place, Reader, Shape, ValueNode};

use super::graph_types::{Cast, Graph, RequestField};

/// A type that begins with the members of a range.
macro_rules! ranged {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            pub(crate) offset: u32,
            pub(crate) end_offset: u32,
            pub(crate) line: u32,
            pub(crate) column: u32,
            pub(crate) end_line: u32,
            pub(crate) end_column: u32,
            $($more)*
        }
    };
}

ranged! {
    /// A text range: offsets in UTF-16 code units, lines and columns from 1.
    Range {}
}

ranged! {
    /// A text range with a message.
    FindingLabel {
        pub(crate) message: String,
    }
}

ranged! {
    /// A text range and its replacement.
    TextEdit {
        pub(crate) replacement: String,
    }
}

ranged! {
    /// A diagnostic of a text.
    Finding {
        pub(crate) code: String,
        pub(crate) severity: FindingSeverity,
        pub(crate) message: String,
        pub(crate) label: Nullable<String>,
        pub(crate) help: Nullable<String>,
        pub(crate) pointer: Nullable<String>,
        /// The node that contains the range.
        pub(crate) node: Nullable<String>,
        pub(crate) labels: Vec<FindingLabel>,
        pub(crate) fix: Nullable<Fix>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(name = "Severity")]
pub(crate) enum FindingSeverity {
    Error,
    Warning,
    Note,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Fix {
    pub(crate) title: String,
    pub(crate) edits: Vec<TextEdit>,
}

/// A text to check with the settings of the file's project.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct Subject {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
}

/// A text and a position in it.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct SubjectAt {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    /// Position in UTF-16 code units.
    pub(crate) offset: u64,
}

/// A file, optionally with unsaved text.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct FileSubject {
    pub(crate) path: String,
    pub(crate) text: Option<String>,
}

/// Diagnostics and graph of a text.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Analysis {
    pub(crate) text_hash: String,
    /// Semantic hash; null if the text is not a flow.
    pub(crate) hash: Nullable<String>,
    pub(crate) summary: FindingCounts,
    pub(crate) diagnostics: Vec<Finding>,
    pub(crate) flow: Nullable<FlowMetadata>,
    pub(crate) graph: Nullable<Graph>,
    /// Fields of the form that starts a run.
    pub(crate) request: Vec<RequestField>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FindingCounts {
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) notes: u64,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FlowMetadata {
    pub(crate) name: Nullable<String>,
    pub(crate) description: Nullable<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) version: Nullable<String>,
}

/// One end of a new edge.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct ConnectableEnd {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    /// Written as `node.port`.
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

/// Possible other ends of the edge: `targets` for `from`, `sources` for `to`.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct Connectable {
    pub(crate) targets: Option<Vec<Target>>,
    pub(crate) sources: Option<Vec<Source>>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Target {
    pub(crate) to: String,
    pub(crate) allowed: bool,
    pub(crate) cast: Cast,
    /// Why the connection is not allowed, or a note if it is.
    pub(crate) reason: Nullable<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Source {
    pub(crate) from: String,
    pub(crate) allowed: bool,
    pub(crate) cast: Cast,
    /// Why the connection is not allowed, or a note if it is.
    pub(crate) reason: Nullable<String>,
}

/// An edit command, as described by `stave edit --schema`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EditCommand(pub(crate) FlowEdit);

impl Shape for EditCommand {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        match FlowEdit::from_value(&node.to_value()) {
            Ok(command) => Some(EditCommand(command)),
            Err(reason) => {
                reader.fault(at, node.span(), FaultKind::rule("edit-command", reason));
                None
            }
        }
    }

    fn write(&self) -> Value {
        self.0.to_value()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.named("Command", |_| {
            request_schema().pointer("/properties/commands/items").cloned().unwrap_or_default()
        })
    }
}

/// Commands to apply to a text.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct EditText {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    /// The semantic hash of the flow that the commands were made for.
    pub(crate) base_hash: Option<String>,
    /// Whether the result may have more errors than before.
    #[shape(not_null)]
    pub(crate) allow_errors: Option<bool>,
    pub(crate) commands: Vec<EditCommand>,
}

/// A sentence that describes a change.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct ChatText {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    pub(crate) message: String,
    /// Whether to interpret the sentence without a model.
    pub(crate) offline: Option<bool>,
}

/// The result of an edit. No file is written.
macro_rules! edited {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            pub(crate) text: String,
            pub(crate) hash: Nullable<String>,
            pub(crate) commands: Vec<EditCommand>,
            pub(crate) diff: Diff,
            /// The differences as readable lines.
            pub(crate) shown: Vec<String>,
            /// Commands that undo the edit.
            pub(crate) inverse: InverseEdit,
            /// The edit as changes of the original text.
            pub(crate) changes: Vec<TextChange>,
            pub(crate) analysis: Analysis,
            $($more)*
        }
    };
}

edited! {
    /// The result of edit commands. No file is written.
    Edited {}
}

edited! {
    /// The result of a sentence. No file is written.
    Proposed {
        pub(crate) by: ProposedBy,
    }
}

impl Edited {
    /// The same edit, with what interpreted the sentence.
    pub(crate) fn by(self, by: ProposedBy) -> Proposed {
        let Edited { text, hash, commands, diff, shown, inverse, changes, analysis } = self;
        Proposed { text, hash, commands, diff, shown, inverse, changes, analysis, by }
    }
}

/// What interpreted the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum ProposedBy {
    Grammar,
    Model,
}

#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct InverseEdit {
    pub(crate) base_hash: Option<String>,
    pub(crate) allow_errors: Option<bool>,
    pub(crate) commands: Vec<EditCommand>,
}

/// Semantic differences between two flows.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Diff {
    pub(crate) same: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) layout: Vec<Change>,
    pub(crate) comments: CommentChanges,
}

impl Diff {
    pub(crate) fn of(diff: &diff::Diff) -> Diff {
        let list = |changes: &[FlowChange]| changes.iter().map(Change::of).collect();
        Diff {
            same: diff.is_empty(),
            changes: list(&diff.changes),
            layout: list(&diff.layout),
            comments: CommentChanges {
                added: diff.comments_added.clone(),
                removed: diff.comments_removed.clone(),
            },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct CommentChanges {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Change {
    pub(crate) kind: DifferenceKind,
    /// Changed element: `node`, `port`, `edge`, …
    pub(crate) part: String,
    pub(crate) path: String,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

impl Change {
    fn of(change: &FlowChange) -> Change {
        Change {
            kind: match change.kind {
                ChangeKind::Added => DifferenceKind::Added,
                ChangeKind::Removed => DifferenceKind::Removed,
                ChangeKind::Changed => DifferenceKind::Changed,
                ChangeKind::Renamed => DifferenceKind::Renamed,
            },
            part: change.part.word().to_owned(),
            path: change.path.clone(),
            before: change.before.clone().unwrap_or_default(),
            after: change.after.clone().unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum DifferenceKind {
    Added,
    Removed,
    Changed,
    Renamed,
}

/// A text change with offsets in UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct TextChange {
    pub(crate) offset: u32,
    pub(crate) end_offset: u32,
    pub(crate) insert: String,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Hover {
    pub(crate) markdown: Nullable<String>,
    pub(crate) range: Nullable<Range>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Completions {
    pub(crate) items: Vec<CompletionItem>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct CompletionItem {
    pub(crate) label: String,
    pub(crate) insert: String,
    pub(crate) detail: String,
    pub(crate) kind: CompletionItemKind,
    pub(crate) offset: u32,
    pub(crate) end_offset: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum CompletionItemKind {
    Field,
    Value,
    Operation,
    Port,
    Variable,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Ranges {
    pub(crate) ranges: Vec<Range>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FormattedText {
    pub(crate) text: String,
}
