//! The run manifest: what went into a compile and what came out of it, by hash.

use std::collections::BTreeMap;

use stave_canon::{Pointer, Value, pretty_sorted_utf8};

use crate::codec::Reader;
use crate::model::words;
use crate::{LoadError, codes, stable_json_fingerprint};

/// The word that marks a run manifest.
pub const SCHEMA_KIND: &str = "run_manifest";
const VERSION: i64 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunManifest {
    pub run_id: String,
    pub tenant_id: String,
    pub repo_id: String,
    /// The document's fingerprint.
    pub ir_sha256: String,
    pub ir_path: String,
    pub ir_format_version: String,
    pub stable_intent_sha256: Option<String>,
    pub replay_mode: ReplayMode,
    /// SHA-256 of every source, by its name in the project.
    pub input_hashes: BTreeMap<String, String>,
    /// SHA-256 of every file that was written, by its path below the output folder.
    pub output_hashes: BTreeMap<String, String>,
    /// SHA-256 of what every exec document says, by its path below the output folder. The time at which a
    /// document was made is no part of it, so that the same source has the same manifest.
    pub exec_hashes: BTreeMap<String, String>,
    /// Path and SHA-256 of the bundle.
    pub runtime_bundle: Option<(String, String)>,
}

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
        let hashes = |hashes: &BTreeMap<String, String>| -> Value {
            hashes.iter().map(|(path, hash)| (path.as_str(), hash.as_str())).collect()
        };
        let pointer = |path: &str, hash: &str| Value::from_iter([("path", path), ("sha256", hash)]);
        let bundle = self.runtime_bundle.as_ref().map(|(path, hash)| pointer(path, hash));
        Value::from_iter([
            ("schema_kind", Value::from(SCHEMA_KIND)),
            ("manifest_version", VERSION.into()),
            ("run_id", self.run_id.as_str().into()),
            ("tenant_id", self.tenant_id.as_str().into()),
            ("repo_id", self.repo_id.as_str().into()),
            ("ir_sha256", self.ir_sha256.as_str().into()),
            ("ir_document", pointer(&self.ir_path, &self.ir_sha256)),
            ("ir_format_version", self.ir_format_version.as_str().into()),
            ("stable_intent_sha256", self.stable_intent_sha256.clone().into()),
            ("replay_mode", self.replay_mode.word().into()),
            ("input_hashes", hashes(&self.input_hashes)),
            ("output_hashes", hashes(&self.output_hashes)),
            ("exec_hashes", hashes(&self.exec_hashes)),
            ("runtime_bundle", bundle.into()),
        ])
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
        let value = stave_canon::parse(text)?;
        let mut reader = Reader::new();
        let manifest = read(&mut reader, &value);
        reader.finish(manifest)
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

fn read(reader: &mut Reader, value: &Value) -> Option<RunManifest> {
    let root = Pointer::root();
    let members = reader.object(value, &root)?;
    let marks = [("schema_kind", Value::from(SCHEMA_KIND)), ("manifest_version", VERSION.into())];
    for (key, wanted) in marks {
        if value.get(key) != Some(&wanted) {
            reader.fault(codes::SYSTEM_UNSUPPORTED_VERSION, &root, format!("`{key}` must be {wanted}"));
        }
    }
    let replay = reader.written_text(members, "replay_mode");
    let replay_mode = reader.word(&root.key("replay_mode"), &replay, ReplayMode::ALL, ReplayMode::word);
    let ir_sha256 = hash(reader, value, &root, "ir_sha256").unwrap_or_default();
    let document = value.get("ir_document").cloned().unwrap_or_default();
    let pointer = root.key("ir_document");
    let ir_path = document.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
    if document.get("sha256").and_then(Value::as_str) != Some(ir_sha256.as_str()) || ir_path.is_empty() {
        reader.fault(codes::SYSTEM_BAD_VALUE, &pointer, "must name a path and the hash in `ir_sha256`");
    }
    let bundle = value.get("runtime_bundle").filter(|bundle| !bundle.is_null());
    let runtime_bundle = bundle.and_then(|bundle| {
        let path = bundle.get("path").and_then(Value::as_str).map(str::to_owned);
        path.zip(hash(reader, bundle, &root.key("runtime_bundle"), "sha256"))
    });
    Some(RunManifest {
        run_id: reader.stripped_text(members, "run_id"),
        tenant_id: reader.stripped_text(members, "tenant_id"),
        repo_id: reader.stripped_text(members, "repo_id"),
        ir_sha256,
        ir_path,
        ir_format_version: reader.written_text(members, "ir_format_version"),
        stable_intent_sha256: value.get("stable_intent_sha256").and_then(Value::as_str).map(str::to_owned),
        replay_mode: replay_mode.unwrap_or(ReplayMode::Live),
        input_hashes: hashes(reader, value, "input_hashes"),
        output_hashes: hashes(reader, value, "output_hashes"),
        exec_hashes: hashes(reader, value, "exec_hashes"),
        runtime_bundle,
    })
}

fn hashes(reader: &mut Reader, value: &Value, key: &str) -> BTreeMap<String, String> {
    let pointer = Pointer::root().key(key);
    let Some(map) = value.get(key) else { return BTreeMap::new() };
    let paths: Vec<String> = reader
        .object(map, &pointer)
        .map(|members| members.object.keys().cloned().collect())
        .unwrap_or_default();
    paths.into_iter().filter_map(|path| hash(reader, map, &pointer, &path).map(|hash| (path, hash))).collect()
}

fn hash(reader: &mut Reader, value: &Value, pointer: &Pointer, key: &str) -> Option<String> {
    let found = value.get(key).and_then(Value::as_str);
    let is_hash =
        |text: &&str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let hash = found.filter(is_hash).map(str::to_owned);
    if hash.is_none() {
        let message = format!("`{key}` must be 64 lowercase hexadecimal digits");
        reader.fault(codes::SYSTEM_BAD_VALUE, pointer, message);
    }
    hash
}
