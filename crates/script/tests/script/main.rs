//! The checkers and the renderer, from the outside.
#![expect(clippy::unwrap_used, reason = "a test may fail loudly anywhere")]

mod arbitrary;
mod expression;
mod facts;
mod findings;
mod golden;
mod label_property;
mod python;
mod render;
mod template;
mod template_generator;
