//! What differs between two documents of one line, for the commands of the line and for `stave diff`.

pub(crate) mod exec;
pub(crate) mod system;
