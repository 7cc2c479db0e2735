//! One file per command: what it prints, where, and how it ends.

mod check;
mod colour;
mod explain;
mod help;
mod new;
mod prompt;
mod record;
mod run;
mod sample;
mod secrets;
