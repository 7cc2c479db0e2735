//! What is meant when a command names no paths.

use std::path::PathBuf;

use crate::exit::Stop;

/// The folder that is meant when none is named.
pub(crate) fn default_path() -> Result<PathBuf, Stop> {
    let flows = PathBuf::from("flows");
    if flows.is_dir() {
        return Ok(flows);
    }
    Err(Stop::invalid("there is no folder `flows` here").help("name the flow to check: stave check FILE"))
}
