//! The run manifest: what went into a compile and what came out of it, by hash.

use std::collections::BTreeMap;

use stave_canon::{Value, pretty_sorted_utf8};
use stave_shape::{Pattern, Place, Reader, Shape, ValueNode};

use crate::codec::leaves::{stripped, text};
use crate::codec::{read, rule};
use crate::model::words;
use crate::{LoadError, codes, stable_json_fingerprint};

/// The word that marks a run manifest.
pub const SCHEMA_KIND: &str = "run_manifest";
const VERSION: i64 = 1;

/// What went into a compile and what came out of it, by hash. Beyond the schema, `ir_document` has the hash in `ir_sha256`.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open, mark(schema_kind = SCHEMA_KIND, manifest_version = VERSION), check = names_its_document)]
pub struct RunManifest {
    /// The run that compiled the system.
    #[shape(with = stripped)]
    pub run_id: String,
    /// Whose system it is.
    #[shape(with = stripped)]
    pub tenant_id: String,
    /// The repository that the system belongs to.
    #[shape(with = stripped)]
    pub repo_id: String,
    /// The document's fingerprint.
    #[shape(pattern = HASH)]
    pub ir_sha256: String,
    /// Where the document is, with the same fingerprint.
    pub ir_document: HashedFile,
    /// The form of the document.
    #[shape(with = text)]
    pub ir_format_version: String,
    /// The fingerprint of the intent behind the run.
    #[shape(write_null)]
    pub stable_intent_sha256: Option<String>,
    pub replay_mode: ReplayMode,
    /// SHA-256 of every source, by its name in the project.
    #[shape(default, with = hashes)]
    pub input_hashes: BTreeMap<String, String>,
    /// SHA-256 of every file that was written, by its path below the output folder.
    #[shape(default, with = hashes)]
    pub output_hashes: BTreeMap<String, String>,
    /// SHA-256 of what every exec document says, by its path below the output folder. The time at which a
    /// document was made is not part of it, so that the same source has the same manifest.
    #[shape(default, with = hashes)]
    pub exec_hashes: BTreeMap<String, String>,
    /// Path and SHA-256 of the bundle.
    #[shape(write_null)]
    pub runtime_bundle: Option<HashedFile>,
}

/// A file by its path below the output folder, and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct HashedFile {
    pub path: String,
    #[shape(pattern = HASH)]
    pub sha256: String,
}

const HASH: Pattern = Pattern {
    name: "64 lowercase hexadecimal digits",
    expression: "^[0-9a-f]{64}$",
    fits: |text| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
};

words! {
    /// How much of a run was repeated from an earlier one.
    ReplayMode {
        Live = "live",
        LlmVcr = "llm_vcr",
        FullReplay = "full_replay",
        PartialReplay = "partial_replay",
        RuntimeReplay = "runtime_replay",
        ReconcileReplay = "reconcile_replay",
    }
}

/// Where the manifest of a run is kept.
#[must_use]
pub fn manifest_path(run_id: &str) -> String {
    format!(".akc/run/{run_id}.manifest.json")
}

impl RunManifest {
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }

    #[must_use]
    pub fn to_file_text(&self) -> String {
        let mut text = pretty_sorted_utf8(&self.to_value());
        text.push('\n');
        text
    }

    /// The fingerprint of the whole manifest.
    #[must_use]
    pub fn stable_hash(&self) -> String {
        stable_json_fingerprint(&self.to_value())
    }

    /// Reads a manifest's text, or says everything that is wrong with it.
    pub fn from_text(text: &str) -> Result<RunManifest, LoadError> {
        RunManifest::from_value(&stave_canon::parse(text)?)
    }

    /// Reads a manifest, or says everything that is wrong with it.
    pub fn from_value(value: &Value) -> Result<RunManifest, LoadError> {
        read(value)
    }

    /// The files whose bytes are not what the manifest says, or that are not there. `read` gives a file's
    /// bytes.
    pub fn changed(&self, mut read: impl FnMut(&str) -> Option<Vec<u8>>) -> Vec<String> {
        let is_changed = |(path, hash): &(&String, &String)| {
            read(path).is_none_or(|bytes| stave_canon::sha256_hex(bytes) != **hash)
        };
        self.output_hashes.iter().filter(is_changed).map(|(path, _)| path.clone()).collect()
    }
}

/// The JSON Schema of a manifest.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<RunManifest>("urn:stave:manifest:1", "Run manifest 1")
}

fn names_its_document<N: ValueNode>(
    manifest: Option<&RunManifest>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(manifest) = manifest else { return };
    let document = &manifest.ir_document;
    if document.sha256 != manifest.ir_sha256 || document.path.is_empty() {
        let kind = rule(codes::SYSTEM_BAD_VALUE, "must name a path and the hash in `ir_sha256`");
        reader.fault(&at.key("ir_document"), node.span(), kind);
    }
}

/// Hashes by path.
mod hashes {
    use std::collections::BTreeMap;

    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    use super::HASH;

    pub(super) fn read<N: ValueNode>(
        node: N,
        at: &Place<'_>,
        reader: &mut Reader,
    ) -> Option<BTreeMap<String, String>> {
        let hashes = BTreeMap::<String, String>::read(node, at, reader)?;
        for (path, found) in hashes.iter().filter(|(_, hash)| !(HASH.fits)(hash)) {
            let kind = FaultKind::WrongForm { wanted: HASH.name, found: found.clone() };
            reader.fault(&at.key(path), node.span(), kind);
        }
        Some(hashes)
    }

    pub(super) fn write(hashes: &BTreeMap<String, String>) -> Value {
        hashes.write()
    }

    pub(super) fn schema(_: &mut Definitions) -> Value {
        let hash = Value::from_iter([("type", "string"), ("pattern", HASH.expression)]);
        Value::from_iter([("type", Value::from("object")), ("additionalProperties", hash)])
    }
}
