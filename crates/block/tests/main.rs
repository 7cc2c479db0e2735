//! What the block line promises, one module per subject.

mod golden;
mod planner;
mod properties;
mod wire;
