//! System documents from files. They may be far larger than flows.

use std::io::Read;
use std::path::Path;

use stave_system::Document;

use crate::exit::Stop;

/// The largest document that is read.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The text of a document or bundle.
pub(crate) fn read(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    let fail = |error: std::io::Error| Stop::invalid(format!("{name} can not be read: {error}"));
    let file = std::fs::File::open(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    if size > MAX_BYTES {
        return Err(Stop::invalid(format!("{name} is larger than {MAX_BYTES} bytes")));
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(fail)?;
    Ok(text)
}

/// A document that keeps every rule of the specification.
pub(crate) fn load(path: &Path) -> Result<Document, Stop> {
    let text = read(path)?;
    Document::from_text(&text).map_err(|error| {
        let stop = Stop::invalid(format!("{} is not a system document:\n{error}", path.display()));
        stop.help(format!("`stave system validate {}` shows where", path.display()))
    })
}
