//! The Python, expressions and templates inside a flow: static analysis and evaluation.
//!
//! - [`python`] checks a code transform without running it.
//! - [`expression`] checks the one-line subset of conditions, edge transforms and list operations.
//! - [`jinja`] checks and renders prompt templates.
//! - [`pool`] runs Python in worker processes, which speak [`protocol`].
//!
//! Invariant: the checkers only parse. Nothing in this crate executes a flow's code in the calling
//! process except templates, which have no access to anything but the values they are given and stop
//! when their fuel is used up.

pub mod address;
mod chain;
mod error;
pub mod expression;
pub mod interpolation;
pub mod jinja;
mod limits;
pub mod pool;
pub mod protocol;
pub mod python;
pub mod reads;
pub mod state_key;
mod suggest;
mod used;

pub use error::{CodePlace, CodeRange, Limit, ScriptError};
pub use expression::{
    ExpressionCheck, ExpressionType, check_condition, check_expression, check_typed, check_typed_condition,
};
pub use jinja::{RenderError, RenderLimits, RenderedPiece, Renderer, TemplateCheck, check_template, render};
pub use limits::Limits;
pub use pool::{
    PoolOptions, PythonPool, StateError, StateHost, TransformJob, TransformOutput, WorkerCommand,
};
pub use python::{TransformCheck, TransformFacts, check_transform};
pub use reads::Read;
pub use used::{Used, UsedPath};
