//! Run manifests: what is written reads back, and nothing that is changed does unseen.

use std::collections::BTreeMap;

use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::sample::select;
use stave_canon::sha256_hex;
use stave_system::manifest::{HashedFile, ReplayMode, RunManifest};

fn hashes() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[a-z./]{1,12}", "[0-9a-f]{64}", 0..4)
}

pub(crate) fn manifest() -> impl Strategy<Value = RunManifest> {
    let scope = ("[a-z]{1,8}", "[a-z]{1,8}", "[a-z]{1,8}");
    let bundle = proptest::option::of(("[a-z./]{1,12}", "[0-9a-f]{64}"));
    let intent = proptest::option::of("[0-9a-f]{64}");
    let parts = (
        scope,
        "[0-9a-f]{64}",
        select(ReplayMode::ALL.to_vec()),
        hashes(),
        hashes(),
        hashes(),
        bundle,
        intent,
    );
    parts.prop_map(
        |((run_id, tenant_id, repo_id), ir_sha256, replay_mode, inputs, outputs, exec, bundle, intent)| {
            RunManifest {
                ir_document: HashedFile { path: format!(".akc/ir/{run_id}.json"), sha256: ir_sha256.clone() },
                run_id,
                tenant_id,
                repo_id,
                ir_sha256,
                ir_format_version: "2.0".to_owned(),
                stable_intent_sha256: intent,
                replay_mode,
                input_hashes: inputs,
                output_hashes: outputs,
                exec_hashes: exec,
                runtime_bundle: bundle.map(|(path, sha256)| HashedFile { path, sha256 }),
            }
        },
    )
}

proptest! {
    #[test]
    fn a_manifest_reads_back_as_it_was_written(manifest in manifest()) {
        let read = RunManifest::from_text(&manifest.to_file_text()).unwrap();
        prop_assert_eq!(read.stable_hash(), manifest.stable_hash());
        prop_assert_eq!(read, manifest);
    }

    #[test]
    fn every_member_counts_in_the_hash(one in manifest(), other in manifest()) {
        prop_assert_eq!(one == other, one.stable_hash() == other.stable_hash());
    }

    #[test]
    fn no_text_makes_reading_a_manifest_panic(text in any::<String>()) {
        prop_assert!(RunManifest::from_text(&text).is_err());
    }
}

#[test]
fn a_file_that_changed_or_went_is_named() {
    let files = [("kept", "a"), ("changed", "b"), ("gone", "c")];
    let text = r#"{"schema_kind": "run_manifest", "manifest_version": 1, "run_id": "r", "tenant_id": "t", "repo_id": "r",
      "ir_sha256": "HASH", "ir_document": {"path": "p", "sha256": "HASH"}, "ir_format_version": "2.0", "replay_mode": "live"}"#;
    let text = text.replace("HASH", &sha256_hex(""));
    let mut manifest = RunManifest::from_text(&text).unwrap();
    manifest.output_hashes =
        files.iter().map(|(path, text)| ((*path).to_owned(), sha256_hex(text))).collect();
    let now = |path: &str| match path {
        "kept" => Some(b"a".to_vec()),
        "changed" => Some(b"B".to_vec()),
        _ => None,
    };
    assert_eq!(manifest.changed(now), ["changed", "gone"]);
    for (from, to) in [
        ("\"live\"", "\"often\""),
        ("run_manifest", "other"),
        ("\"manifest_version\": 1", "\"manifest_version\": 2"),
    ] {
        assert!(RunManifest::from_text(&text.replacen(from, to, 1)).is_err(), "{to}");
    }
    let other = text.replacen(&sha256_hex(""), &sha256_hex("x"), 1);
    assert!(RunManifest::from_text(&other).is_err(), "the two hashes of the document disagree");
}
