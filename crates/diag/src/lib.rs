//! Source files, spans, diagnostics, the code table and the renderers.
//!
//! A user's mistake is a [`Diagnostic`]: one stable [`Code`], one primary [`Span`], labels, a help line
//! and, where the cure is certain, a [`Fix`] as text edits. Checkers return all of them at once.
//!
//! Invariant: a span always lies within its source, on character boundaries, so rendering cannot fail;
//! and every code in use is in [`CODES`] and has a page under `docs/codes/`.

mod code;
pub mod codes;
mod diagnostic;
mod embedded;
mod fix;
pub mod page;
pub mod render;
mod source;
mod suggest;

pub use code::{Code, CodeInfo, Line, lookup};
pub use codes::CODES;
pub use diagnostic::{Diagnostic, Label, Severity, sort};
pub use embedded::{Embedded, Piece};
pub use fix::{Applied, ConflictingEdits, Edit, Fix, Skipped, apply, apply_fixes};
pub use render::Colour;
pub use source::{LineColumn, Source, SourceId, Sources, Span};
pub use suggest::did_you_mean;
