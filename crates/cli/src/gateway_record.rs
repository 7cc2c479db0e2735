//! One request to the gateway, by its id or the beginning of it, for the commands that show what was kept of it.

use std::path::Path;

use stave_gateway::records::StoredRecord;

use crate::archive::gateway_records;
use crate::exit::Stop;

/// The record of a request to the gateway.
pub(crate) fn gateway_record(id: &str, state_dir: Option<&Path>) -> Result<StoredRecord, Stop> {
    let (path, _) = gateway_records(state_dir)?;
    if !path.is_file() {
        return Err(Stop::invalid("no requests of a gateway are kept here")
            .help("--state-dir names the folder that keeps them"));
    }
    let found = StoredRecord::find(&path, id).map_err(|error| Stop::internal(error.to_string()))?;
    match <[StoredRecord; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(found) if found.is_empty() => Err(Stop::invalid(format!("the gateway kept no request `{id}`"))
            .help("the header `x-stave-request-id` of an answer names its request")),
        Err(_) => {
            Err(Stop::invalid(format!("several requests begin with `{id}`")).help("give more of the id"))
        }
    }
}
