//! Which files of an output folder `stave compile` wrote, with the hash of each.
//!
//! The record is only ever asked about a file that was found in the folder. Nothing walks the paths that it
//! lists, so a forged record with `..`, an absolute path or a link in it leads nowhere. A path that no emitter
//! writes is nobody's, whatever the record says.
//!
//! Invariant: while a publication is under way, the record lists the old and the new bytes of every file, so
//! that a process that dies leaves no file behind that the next compile takes for somebody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use stave_canon::{Object, Value, sha256_hex};

use super::{CACHE, FileSystem};

/// The record's file below the cache folder.
pub(super) const FILE: &str = "outputs.json";
/// A record that is larger is not read. What it listed is then recognised by its kind, or is foreign.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    files: BTreeMap<String, BTreeSet<String>>,
}

impl Record {
    /// The record of an output folder. One that is absent or cannot be read lists nothing.
    pub(crate) fn of(out: &Path, files: &dyn FileSystem) -> io::Result<Record> {
        let path = out.join(CACHE).join(FILE);
        let bytes = files.read(&path, MAX_BYTES)?;
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let value = text.and_then(|text| stave_canon::parse(&text).ok());
        Ok(value.as_ref().map(Record::from_value).unwrap_or_default())
    }

    fn from_value(value: &Value) -> Record {
        let listed = value.get("files").and_then(Value::as_object);
        let files = listed.into_iter().flatten().map(|(path, hashes)| {
            let hashes = hashes.as_array().into_iter().flatten();
            (path.to_string(), hashes.filter_map(|hash| hash.as_str().map(str::to_owned)).collect())
        });
        Record { files: files.collect() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let files: Object = self
            .files
            .iter()
            .map(|(path, hashes)| {
                let hashes = hashes.iter().map(|hash| Value::from(hash.as_str()));
                (path.as_str().into(), Value::Array(hashes.collect()))
            })
            .collect();
        let record = Value::from_iter([("version", Value::from(1)), ("files", Value::Object(files))]);
        format!("{record}\n").into_bytes()
    }

    pub(super) fn add(&mut self, path: &str, bytes: &[u8]) {
        self.files.entry(path.to_owned()).or_default().insert(sha256_hex(bytes));
    }

    /// What another record lists about a file that stays as it is.
    pub(super) fn keep(&mut self, path: &str, other: &Record) {
        if let Some(hashes) = other.files.get(path) {
            self.files.entry(path.to_owned()).or_default().extend(hashes.iter().cloned());
        }
    }

    /// Everything that either record lists.
    pub(super) fn union(&self, other: &Record) -> Record {
        let mut union = self.clone();
        for path in other.files.keys() {
            union.keep(path, other);
        }
        union
    }

    pub(super) fn lists(&self, path: &str, bytes: &[u8]) -> bool {
        self.files.get(path).is_some_and(|hashes| hashes.contains(&sha256_hex(bytes)))
    }
}
