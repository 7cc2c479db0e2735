//! The prompt layer of a node.

use stave_canon::Number;
use stave_diag::Span;
use stave_vocabulary::{OnDenied, PhaseType};

use super::{Extra, Readable, ReadableList, Spanned, Text};
use crate::yaml::Tree;

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The `prompt` key, at which what is missing is reported.
    pub key: Span,
    pub span: Span,
    /// A template, like `template`.
    pub system: Option<Text>,
    pub template: Option<Text>,
    /// Absent: the project's default model.
    pub model: Option<Model>,
    pub output_schema: Option<Tree>,
    pub temperature: Option<Spanned<Number>>,
    pub max_tokens: Option<Spanned<u64>>,
    /// Who is asked; the node's id when absent.
    pub role: Option<Text>,
    /// The template that shapes the prompt, in place of the one of `role`.
    pub template_id: Option<Text>,
    /// What else the model is shown: `file:`, `diff:` and `memory:` references, or plain text.
    pub context_refs: ReadableList<Text>,
    /// In which phase of the work the prompt is asked, which stretches or shrinks its budget.
    pub phase: Option<Spanned<PhaseType>>,
    /// From 1 to 10; 5 leaves the budget alone.
    pub priority: Option<Spanned<u64>>,
    /// Sentences that the answer has to respect, after those of the project.
    pub constraints: ReadableList<Text>,
    /// How many tokens the prompt may have.
    pub token_budget: Option<Spanned<u64>>,
    /// The output schema of the project's template files that the answer has to fit.
    pub schema_id: Option<Text>,
    /// What the answer has to be: a schema in short form, or format, fields and length.
    pub output_requirements: Option<Tree>,
    pub tools: ReadableList<ToolDeclaration>,
    /// Who takes the denial when governance denies the prompt; the run ends as refused when absent.
    pub on_denied: Option<Spanned<OnDenied>>,
    pub fallback: Option<Fallback>,
    pub extra: Vec<Extra>,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub key: Span,
    pub span: Span,
    pub provider: Option<Text>,
    pub name: Option<Text>,
    pub endpoint: Option<Text>,
    pub extra: Vec<Extra>,
}

/// A function that the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    pub span: Span,
    pub name: Option<Text>,
    pub description: Option<Text>,
    pub parameters: Option<Tree>,
    /// The node that answers the call.
    pub maps_to: Readable<Text>,
    /// `server/tool` of an MCP server that answers the call.
    pub mcp: Readable<Text>,
    pub extra: Vec<Extra>,
}

/// What happens when the model gives no usable answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Fallback {
    pub key: Span,
    pub span: Span,
    /// Never empty; `any` stands for all three.
    pub on: Option<Spanned<Vec<Trigger>>>,
    pub model: Readable<Model>,
    /// JSON when the prompt has an output schema, else plain text.
    pub static_response: Readable<Text>,
    pub extra: Vec<Extra>,
}

/// What lets a fallback begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trigger {
    Timeout,
    Error,
    ValidationFail,
}
