//! Compares a run manifest with the document, the bundle and the files that it lists.
//!
//! A runtime that has started a bundle writes the fingerprints of JSON files where a compile writes the hashes of their
//! bytes. Both bind the content, so both are accepted.

use stave_canon::{Value, sha256_hex};

use crate::bundle::{Bundle, bundle_path, ir_path};
use crate::manifest::{RunManifest, SCHEMA_KIND};
use crate::{SystemDocument, stable_json_fingerprint, strip};

/// What a manifest is compared with.
#[derive(Debug, Clone, Copy)]
pub struct ManifestComparison<'m> {
    pub manifest: &'m Value,
    pub document: &'m SystemDocument,
    pub bundle: &'m Bundle,
    pub bundle_text: &'m str,
    /// The hash of the intent, when it follows from the document. The writer of the manifest is then known, and every file
    /// that it lists must be there.
    pub intent_sha256: Option<&'m str>,
}

impl ManifestComparison<'_> {
    /// What the manifest says and what is so. `read` gives the bytes of a file below the output folder.
    /// `exec_hash` is what vouches for an exec document.
    pub fn faults(
        &self,
        mut read: impl FnMut(&str) -> Option<Vec<u8>>,
        exec_hash: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        if self.manifest.get("schema_kind").and_then(Value::as_str) != Some(SCHEMA_KIND)
            || self.manifest.pointer("/runtime_bundle/sha256").and_then(Value::as_str).is_none()
        {
            faults.push("the run manifest beside the bundle is not a manifest of a bundle".to_owned());
        }
        let run_id = self.bundle.text("run_id");
        for key in ["run_id", "tenant_id", "repo_id"] {
            self.compare(&mut faults, key, &[strip(self.bundle.text(key))]);
        }
        let fingerprint = self.document.fingerprint();
        self.compare(&mut faults, "ir_sha256", &[&fingerprint]);
        self.compare(&mut faults, "ir_format_version", &[self.document.version.format_version()]);
        self.compare(&mut faults, "ir_document/sha256", &[&fingerprint]);
        self.compare(&mut faults, "ir_document/path", &[&ir_path(run_id)]);
        let hashes = [sha256_hex(self.bundle_text), self.bundle.fingerprint()];
        self.compare(&mut faults, "runtime_bundle/sha256", &hashes.each_ref().map(String::as_str));
        self.compare(&mut faults, "runtime_bundle/path", &[&bundle_path(run_id)]);
        if let Some(intent) = self.intent_sha256 {
            self.compare(&mut faults, "stable_intent_sha256", &[intent]);
            if faults.is_empty()
                && let Err(error) = RunManifest::from_value(self.manifest)
            {
                faults.push(format!("the run manifest beside the bundle is invalid: {error}"));
            }
            self.outputs(&mut faults, &mut read);
            self.documents(&mut faults, &mut read, exec_hash);
        }
        faults
    }

    /// A member that is absent or null says nothing.
    fn compare(&self, faults: &mut Vec<String>, path: &str, wanted: &[&str]) {
        let found = self.manifest.pointer(&format!("/{path}")).filter(|found| !found.is_null());
        let Some(found) = found else { return };
        if !found.as_str().is_some_and(|found| wanted.contains(&strip(found))) {
            let wanted = wanted.first().copied().unwrap_or_default();
            faults.push(format!("`{path}` of the run manifest is {found}, and it must be \"{wanted}\""));
        }
    }

    fn documents(
        &self,
        faults: &mut Vec<String>,
        read: &mut impl FnMut(&str) -> Option<Vec<u8>>,
        exec_hash: impl Fn(&str) -> String,
    ) {
        let documents = self.manifest.get("exec_hashes").and_then(Value::as_object);
        for (path, listed) in documents.into_iter().flatten() {
            let text = read(path).and_then(|bytes| String::from_utf8(bytes).ok());
            match text {
                None => faults.push(format!("`{path}`, which the run manifest lists, is missing")),
                Some(text) if Some(exec_hash(&text).as_str()) != listed.as_str() => {
                    faults.push(format!("`{path}` does not say what the run manifest vouches for"));
                }
                Some(_) => {}
            }
        }
    }

    fn outputs(&self, faults: &mut Vec<String>, read: &mut impl FnMut(&str) -> Option<Vec<u8>>) {
        let outputs = self.manifest.get("output_hashes").and_then(Value::as_object);
        let bundle = bundle_path(self.bundle.text("run_id"));
        if outputs.is_none_or(|outputs| !outputs.contains_key(&bundle)) {
            faults.push(format!("`output_hashes` of the run manifest does not list `{bundle}`"));
        }
        for (path, listed) in outputs.into_iter().flatten() {
            let listed = listed.as_str().unwrap_or_default();
            let bytes = if *path == bundle { Some(self.bundle_text.as_bytes().to_vec()) } else { read(path) };
            let Some(bytes) = bytes else {
                faults.push(format!("`{path}`, which the run manifest lists, is missing"));
                continue;
            };
            // The row of the bundle repeats what `runtime_bundle` says of it.
            if *path == bundle
                && self.manifest.pointer("/runtime_bundle/sha256").and_then(Value::as_str) == Some(listed)
            {
                continue;
            }
            let is_same = sha256_hex(&bytes) == listed
                || std::str::from_utf8(&bytes)
                    .ok()
                    .and_then(|text| stave_canon::parse_untrusted(text).ok())
                    .is_some_and(|value| stable_json_fingerprint(&value) == listed);
            if !is_same {
                faults.push(format!("the bytes of `{path}` are not those that the run manifest lists"));
            }
        }
    }
}
