//! `stave edit`, `stave diff` and `stave merge`: flows changed, compared and merged by meaning.

use stave_canon::Value;

use super::sample::DOUBLE;
use crate::folder::{Folder, repository_file};
use crate::json::{items, text};
use crate::process::stave;

fn example() -> Folder {
    let folder = Folder::new();
    folder.write("flow.yaml", repository_file("tests/program/data/complete_example.yaml"));
    folder
}

#[tokio::test]
async fn a_sentence_changes_the_file_and_its_inverse_restores_the_bytes() {
    let folder = example();
    let before = folder.read("flow.yaml");
    let sentence = "Add caching to the feature fetch";
    let dry = stave(&folder, ["edit", "flow.yaml", sentence, "--dry-run"]).finish().await.exits(0);
    assert_eq!(folder.read("flow.yaml"), before, "a dry run writes nothing");
    insta::assert_snapshot!(dry.stdout);
    stave(&folder, ["edit", "flow.yaml", sentence, "--undo", "undo.json"]).finish().await.exits(0);
    assert!(folder.read("flow.yaml").contains("ttl_seconds: 3600"));
    stave(&folder, ["edit", "flow.yaml", "--ops", "undo.json"]).finish().await.exits(0);
    assert_eq!(folder.read("flow.yaml"), before);
}

#[tokio::test]
async fn commands_are_all_applied_or_none() {
    let folder = example();
    let before = folder.read("flow.yaml");
    folder.write(
        "ops.json",
        r#"[{"op": "add_context", "field": "locale"}, {"op": "remove_node", "id": "fetch_customer"}]"#,
    );
    let refused =
        stave(&folder, ["edit", "flow.yaml", "--ops", "ops.json", "--json"]).finish().await.exits(2);
    assert_eq!(text(&refused.json(), "status"), Some("error"));
    assert_eq!(folder.read("flow.yaml"), before);
    folder.write("ops.json", r#"[{"op": "rename_nod", "from": "a", "to": "b"}]"#);
    let unknown = stave(&folder, ["edit", "flow.yaml", "--ops", "ops.json"]).finish().await.exits(2);
    assert!(unknown.stderr.contains("command 1") && unknown.stderr.contains("rename_node"), "{unknown}");
}

#[tokio::test]
async fn the_json_form_carries_text_diff_and_inverse() {
    let folder = example();
    let edit = ["edit", "flow.yaml", "rename fetch_customer to load", "--json"];
    let report = stave(&folder, edit).finish().await.exits(0).json();
    assert_eq!(text(&report, "by"), Some("grammar"));
    assert_eq!(text(&report, "text"), Some(folder.read("flow.yaml").as_str()));
    let changes = report.get("diff").map(|diff| items(diff, "changes")).unwrap();
    assert_eq!(changes.len(), 1, "{report}");
    assert_eq!(text(&changes[0], "kind"), Some("renamed"));
    assert!(report.pointer("/inverse/base_hash").is_some_and(|hash| *hash != Value::Null));
}

#[tokio::test]
async fn an_unknown_sentence_says_what_is_understood() {
    let folder = example();
    let finished = stave(&folder, ["edit", "flow.yaml", "sing a song"]).finish().await.exits(2);
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn a_model_answers_in_commands_and_is_told_when_they_are_refused() {
    let folder = example();
    folder.write(
        "recording.yaml",
        r#"version: 1
exchanges:
  - match: {contains: "translate", excludes: "refused"}
    response:
      content:
        - {type: tool_use, id: a, name: connect, arguments: "{\"from\": \"nobody.x\", \"to\": \"_output\"}"}
  - match: {contains: "translate"}
    response:
      content:
        - {type: tool_use, id: b, name: set_prompt, arguments: "{\"node\": \"generate_response\", \"append_to_system\": \"Answer in French.\"}"}
"#,
    );
    let edit =
        ["edit", "flow.yaml", "translate every answer into French", "--replay", "recording.yaml", "--json"];
    let report = stave(&folder, edit).finish().await.exits(0).json();
    assert_eq!(text(&report, "by"), Some("model"));
    assert!(folder.read("flow.yaml").contains("        Answer in French.\n"));
}

#[tokio::test]
async fn a_sentence_for_the_model_passes_governance_first() {
    let folder = example();
    // Nothing is recorded, so asking the model would fail in another way.
    folder.write("recording.yaml", "version: 1\nexchanges: []\n");
    let edit = |sentence: &'static str| ["edit", "flow.yaml", sentence, "--replay", "recording.yaml"];
    let before = folder.read("flow.yaml");
    folder.write(
        "policies/default.yaml",
        "extends: default\npolicies:\n  - name: no_tongues\n    type: intent\n    action: deny\n    forbidden_keywords: [translate]\n",
    );
    let refused = stave(&folder, edit("translate every answer into French")).finish().await.exits(3);
    assert!(refused.stderr.contains("governance refused the prompt: DENY: no_tongues"), "{refused}");
    assert_eq!(folder.read("flow.yaml"), before);
}

#[tokio::test]
async fn a_diff_tells_meaning_from_layout() {
    let folder = Folder::new();
    folder.write("a.yaml", DOUBLE);
    folder.write("b.yaml", format!("# a comment\n{DOUBLE}"));
    let same = stave(&folder, ["diff", "a.yaml", "b.yaml"]).finish().await.exits(0);
    insta::assert_snapshot!("diff_same", same.stdout);
    folder.write("b.yaml", DOUBLE.replace("* 2", "* 3").replace("_output.text", "_output.answer"));
    let differs = stave(&folder, ["diff", "a.yaml", "b.yaml"]).finish().await.exits(1);
    insta::assert_snapshot!("diff_differs", differs.stdout);
    let report = stave(&folder, ["diff", "--json", "a.yaml", "b.yaml"]).finish().await.exits(1).json();
    assert_eq!(report.get("same"), Some(&Value::Bool(false)));
}

#[tokio::test]
async fn a_merge_takes_both_sides_with_their_comments_and_names_conflicts() {
    let folder = Folder::new();
    folder.write("base.yaml", DOUBLE);
    folder.write("ours.yaml", DOUBLE.replace("  double:", "  # ours\n  double:").replace("* 2", "* 3"));
    folder.write("theirs.yaml", DOUBLE.replace("twice is", "it is").replace("edges:", "# theirs\nedges:"));
    let merge = ["merge", "base.yaml", "ours.yaml", "theirs.yaml", "-o", "out.yaml"];
    stave(&folder, merge).finish().await.exits(0);
    let merged = folder.read("out.yaml");
    for part in ["# ours", "# theirs", "* 3", "it is ${n}"] {
        assert!(merged.contains(part), "{part} in {merged}");
    }
    // A character that changes the direction of a text stays an escape.
    let turned = DOUBLE.replace("twice is", "it \\u202e\\u2066 is");
    folder.write("theirs.yaml", turned.replace("version: \"1.0\"\n", "version: \"1.0\"\n# theirs\n"));
    folder.write("ours.yaml", DOUBLE.replace("* 2", "* 3"));
    stave(&folder, merge).finish().await.exits(0);
    let merged = folder.read("out.yaml");
    assert!(merged.contains("\\u202e\\u2066") && !merged.contains('\u{202e}'), "{merged}");
    folder.write("theirs.yaml", DOUBLE.replace("* 2", "* 4"));
    let conflict = stave(&folder, merge).finish().await.exits(1);
    assert!(conflict.stderr.contains("/nodes/double/transform/spec"), "{conflict}");
    assert!(folder.read("out.yaml").contains("# CONFLICT"));
    stave(&folder, ["check", "out.yaml"]).finish().await.exits(0);
}
