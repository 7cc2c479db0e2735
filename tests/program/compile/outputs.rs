//! Documents, manifest, determinism, and what happens to bad input.

use stave_canon::Value;

use super::sample::{flow, project, published, workflow};
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

#[tokio::test]
async fn documents_and_a_manifest_are_written() {
    let folder = project();
    let report = stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec", "--json"])
        .finish()
        .await
        .exits(0)
        .json();
    assert_eq!(text(&report, "status"), Some("ok"));
    let names: Vec<String> = published(&folder, "out").into_iter().map(|(path, _)| path).collect();
    assert_eq!(
        names,
        ["flows/double.ir.json", "flows/plant.monitor.ir.json", "flows/triple.ir.json", "manifest.json"]
    );
    let manifest = stave_canon::parse(&folder.read("out/manifest.json")).unwrap();
    let entries = manifest.as_array().unwrap();
    let shown: Vec<(&str, &str)> =
        entries.iter().map(|entry| (text(entry, "name").unwrap(), text(entry, "ir_path").unwrap())).collect();
    assert_eq!(
        shown,
        [
            ("double", "flows/double.ir.json"),
            ("plant.monitor", "flows/plant.monitor.ir.json"),
            ("triple", "flows/triple.ir.json"),
        ]
    );
    let keys: Vec<&str> = entries[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "source_file", "policyRef", "step_kinds", "inputs_schema_hash", "ir_path"]);
    let documents =
        ["out/flows/double.ir.json", "out/flows/plant.monitor.ir.json", "out/flows/triple.ir.json"];
    let validate = ["exec", "validate"].into_iter().chain(documents);
    stave(&folder, validate).finish().await.exits(0);
}

#[tokio::test]
async fn the_same_sources_give_the_same_bytes_in_any_order_and_any_folder() {
    let (one, other) = (project(), project());
    let first = [
        "compile",
        "flows/double.yaml",
        "flows/triple.yaml",
        "flows/plant.wdl",
        "--out",
        "out",
        "--emit",
        "exec",
    ];
    stave(&one, first).env("SOURCE_DATE_EPOCH", "1719771943").finish().await.exits(0);
    let paths: Vec<String> = ["plant.pdl", "plant.wdl", "triple.yaml", "double.yaml", "triple.yaml"]
        .iter()
        .map(|name| other.path().join("flows").join(name).display().to_string())
        .collect();
    let second = ["compile".to_owned()]
        .into_iter()
        .chain(paths)
        .chain(["--out", "out", "--emit", "exec", "--no-cache"].map(str::to_owned));
    stave(&other, second).env("SOURCE_DATE_EPOCH", "1719771943").finish().await.exits(0);
    assert_eq!(published(&one, "out"), published(&other, "out"));
    let document = stave_canon::parse(&one.read("out/flows/double.ir.json")).unwrap();
    let stamp = document.pointer("/metadata/generated_at").and_then(Value::as_str);
    assert_eq!(stamp, Some("2024-06-30T18:25:43Z"));
}

#[tokio::test]
async fn unchanged_files_are_left_alone_and_keep_their_time() {
    let folder = project();
    let compile = ["compile", "flows", "--out", "out", "--emit", "exec", "--json"];
    stave(&folder, compile).env("SOURCE_DATE_EPOCH", "1000").finish().await.exits(0);
    let modified = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().modified().unwrap();
    let before = (modified("out/flows/double.ir.json"), modified("out/manifest.json"));
    for cache in [&[][..], &["--no-cache"][..]] {
        let report = stave(&folder, compile.iter().chain(cache)).finish().await.exits(0).json();
        assert_eq!(report.get("unchanged").and_then(Value::as_i64), Some(4), "{report}");
        assert_eq!((modified("out/flows/double.ir.json"), modified("out/manifest.json")), before);
    }
    // One source changes: its document has a new time, the others keep theirs.
    folder.write("flows/triple.yaml", flow("triple", 4));
    let report = stave(&folder, compile).finish().await.exits(0).json();
    assert_eq!(items(&report, "written"), [Value::from("flows/triple.ir.json")]);
    assert_eq!((modified("out/flows/double.ir.json"), modified("out/manifest.json")), before);
    assert!(!folder.read("out/flows/triple.ir.json").contains("1970-01-01T00:16:40Z"));
    assert!(folder.read("out/flows/double.ir.json").contains("1970-01-01T00:16:40Z"));
}

#[tokio::test]
async fn a_removed_source_takes_its_document_and_its_entry_with_it() {
    let folder = project();
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    std::fs::remove_file(folder.path().join("flows/double.yaml")).unwrap();
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    assert!(!folder.has("out/flows/double.ir.json"));
    assert!(!folder.read("out/manifest.json").contains("double"));
}

#[tokio::test]
async fn bad_input_is_reported_in_full_and_nothing_is_written() {
    let folder = project();
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let before = published(&folder, "out");
    folder.write("flows/double.yaml", flow("double", 5));
    folder.write("flows/broken.yaml", flow("broken", 2).replace("to: scale.number", "to: nowhere.number"));
    folder.write("flows/broken.wdl", workflow("broken too").replace("in [\"cool\", \"stop\"]", "> 3"));
    folder.write("flows/broken.pdl", "version: pdl/v0\narms:\nevaluate:\n  a = open(1)\nemit:\n");
    let report = stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec", "--json"])
        .finish()
        .await
        .exits(2)
        .json();
    let found = items(&report, "diagnostics");
    for code in ["pdl-bad-expression", "wdl-bad-condition"] {
        assert!(found.iter().any(|one| text(one, "code") == Some(code)), "{code}: {report}");
    }
    for one in found {
        assert!(text(one, "file").is_some() && one.get("line").is_some(), "{one}");
    }
    assert_eq!(published(&folder, "out"), before);
}

#[tokio::test]
async fn a_damaged_cache_changes_nothing() {
    let folder = project();
    let compile = ["compile", "flows", "--out", "out", "--emit", "exec"];
    stave(&folder, compile).env("SOURCE_DATE_EPOCH", "5").finish().await.exits(0);
    let before = published(&folder, "out");
    let pack = folder.read("out/.ir-cache/pack");
    for damaged in [
        pack.replace("* 2", "* 7"),
        pack.replace("double", "trouble"),
        pack[..pack.len() / 2].to_owned(),
        "x".to_owned(),
    ] {
        folder.write("out/.ir-cache/pack", damaged);
        stave(&folder, compile).env("SOURCE_DATE_EPOCH", "5").finish().await.exits(0);
        assert_eq!(published(&folder, "out"), before);
    }
}

#[tokio::test]
async fn files_of_others_in_the_output_folder_stay() {
    let folder = project();
    folder.write("out/notes.txt", "mine");
    folder.write("out/flows/mine.yaml", "mine too");
    let compile = ["compile", "flows", "--out", "out", "--emit", "exec"];
    stave(&folder, compile).finish().await.exits(0);
    std::fs::remove_file(folder.path().join("flows/double.yaml")).unwrap();
    stave(&folder, compile).finish().await.exits(0);
    assert_eq!(
        (folder.read("out/notes.txt").as_str(), folder.read("out/flows/mine.yaml").as_str()),
        ("mine", "mine too")
    );
    assert!(!folder.has("out/flows/double.ir.json") && folder.has("out/flows/triple.ir.json"));
}

#[tokio::test]
async fn workflows_with_a_yaml_ending_are_workflows() {
    let folder = Folder::new();
    folder.write("flows/plant.wdl.yaml", workflow("my plant"));
    folder.write("flows/plant.pdl.yaml", super::sample::POLICY);
    stave(&folder, ["compile", "flows/plant.wdl.yaml", "--out", "out", "--emit", "exec"])
        .finish()
        .await
        .exits(0);
    assert!(folder.has("out/flows/my-plant.ir.json"));
    let source = stave_canon::parse(&folder.read("out/flows/my-plant.ir.json")).unwrap();
    assert_eq!(source.pointer("/metadata/source_file").and_then(Value::as_str), Some("plant.wdl.yaml"));
    assert_eq!(source.pointer("/constants/policyRef").and_then(Value::as_str), Some("plant"));
}
