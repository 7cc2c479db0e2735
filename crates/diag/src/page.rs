//! The pages under `docs/codes/`: their examples, and their text for a terminal.

mod examples;
mod terminal;

pub use examples::{Example, ExampleKind, Examples, examples};
pub use terminal::to_terminal;
