//! Pictures of graphs, for every line that is one: a neutral [`Diagram`] drawn as SVG, Mermaid or DOT.
//!
//! Numbers are drawn by [`chart`].
//!
//! A caller makes a [`Diagram`] of its graph; how it is laid out and drawn is known here only.
//!
//! Invariant: the same diagram gives the same bytes, and no text of a diagram can leave its place in the
//! output: everything is escaped for the language it is written into.

pub mod chart;
mod diagram;
mod dot;
mod layout;
mod markup;
mod mermaid;
mod svg;

pub use diagram::{Arrow, Box, Diagram, Style, Tone};
pub use dot::dot;
pub use layout::{NodeBox, places};
pub use markup::escaped;
pub use mermaid::mermaid;
pub use svg::svg;
