//! Compiled code, kept from one job to the next.

use std::collections::HashMap;

use monty::MontyRun;
use monty_types::{CompileOptions, MontyException};

/// How much source text is kept compiled. Compiled code counts towards a job's memory, so this is a
/// small part of it.
const MAX_SOURCE_BYTES: usize = 512 * 1024;
const MAX_ENTRIES: usize = 256;

/// The name under which the interpreter reports places in the code.
pub(crate) const FILE: &str = "transform.py";

/// What was compiled, by its text and the names bound for it.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    entries: HashMap<(String, Vec<String>), MontyRun>,
    source_bytes: usize,
}

impl Compiled {
    /// The compiled form of `source`, which sees its inputs under `names`.
    pub(crate) fn get(
        &mut self,
        key: &str,
        names: Vec<String>,
        source: impl FnOnce() -> String,
    ) -> Result<MontyRun, MontyException> {
        let key = (key.to_owned(), names);
        if let Some(known) = self.entries.get(&key) {
            return Ok(known.clone());
        }
        let compiled = MontyRun::new(source(), FILE, key.1.clone(), CompileOptions::default())?;
        if self.entries.len() >= MAX_ENTRIES || self.source_bytes + key.0.len() > MAX_SOURCE_BYTES {
            self.entries.clear();
            self.source_bytes = 0;
        }
        if key.0.len() <= MAX_SOURCE_BYTES {
            self.source_bytes += key.0.len();
            self.entries.insert(key, compiled.clone());
        }
        Ok(compiled)
    }
}
