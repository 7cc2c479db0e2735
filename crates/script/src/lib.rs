//! The Python, expressions and templates inside a flow: static analysis and evaluation.
//!
//! - [`python`] checks a code transform without running it.
//! - [`expression`] checks the one-line subset of conditions, edge transforms and list operations.
//! - [`jinja`] checks prompt templates and has the engine that renders them.
//! - [`pool`] runs Python and templates in worker processes, which speak [`protocol`].
//! - [`templates`] renders prompt templates within bounds.
//!
//! Invariant: the checkers only parse. Nothing in this crate executes a flow's code in the calling
//! process except plain templates, whose text alone bounds what they cost.

pub mod address;
pub mod allow_list;
mod chain;
mod error;
pub mod expression;
pub mod header_names;
pub mod interpolation;
pub mod jinja;
mod limits;
pub mod path_glob;
pub mod pool;
pub mod protocol;
pub mod python;
pub mod reads;
pub mod state_key;
mod suggest;
pub mod templates;
pub mod url_template;
mod used;

pub use error::{CodePlace, CodeRange, Limit, ScriptError};
pub use expression::{
    ExpressionCheck, ExpressionType, check_condition, check_expression, check_typed, check_typed_condition,
};
pub use jinja::{
    InProcess, RenderError, RenderLimits, RenderedPiece, Renderer, TemplateCheck, check_template,
    check_template_in_open_scope, render,
};
pub use limits::JobLimits;
pub use pool::{
    PoolOptions, PythonPool, StateHost, StateHostError, TransformJob, TransformOutput, WorkerCommand,
};
pub use python::{TransformCheck, TransformFacts, check_transform};
pub use reads::Read;
pub use templates::TemplateRenderer;
pub use used::{Used, UsedPath};
