//! `stave block`: what a request is made of, and what changed between two.

use stave_canon::Value;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

fn body(system: &str, tools: &str, question: &str) -> String {
    format!(
        r#"{{"model": "claude-opus-5", "max_tokens": 16, "system": "{system}", "tools": [{tools}],
            "messages": [{{"role": "user", "content": "{question}"}}]}}"#
    )
}

const TOOL: &str = r#"{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}"#;

#[tokio::test]
async fn the_blocks_of_a_body_are_shown_and_are_a_valid_document() {
    let folder = Folder::new();
    folder.write("body.json", body("Be terse.", TOOL, "My key is AKIAIOSFODNN7EXAMPL2"));
    let show = ["block", "show", "--body", "body.json", "--provider", "anthropic"];
    let shown = stave(&folder, show.into_iter().chain(["--json"])).finish().await.exits(0);
    let document = shown.json();
    let blocks = items(&document, "blocks");
    let words =
        |key: &str| blocks.iter().map(|block| text(block, key).unwrap_or_default()).collect::<Vec<_>>();
    assert_eq!(words("role"), ["system", "system", "user"]);
    assert_eq!(words("content_type"), ["text", "tool_schema", "text"]);
    assert_eq!(words("sensitivity"), ["public", "public", "restricted"]);
    assert!(blocks.iter().all(|block| block.pointer("/token_metadata/token_count").is_some()), "{document}");
    assert!(document.get("source_request_hash").is_some() && document.get("tool_schema_hashes").is_some());
    folder.write("blocks.json", &shown.stdout);
    let checked = stave(&folder, ["block", "check", "blocks.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(checked.get("blocks"), Some(&Value::from(3)));
    let table = stave(&folder, show).finish().await.exits(0);
    assert!(table.stdout.contains("restricted") && table.stdout.contains("tool look sha256:"), "{table}");
    let again = stave(&folder, ["block", "show", "blocks.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(again, document);
}

#[tokio::test]
async fn a_picture_counts_the_same_wherever_it_stands() {
    let folder = Folder::new();
    // A picture of 1000 by 1000 pixels with 300 kB of data.
    let mut png = String::from("iVBORw0KGgoAAAANSUhEUgAAA+gAAAPo");
    png.push_str(&"AAAA".repeat(100_000));
    let picture =
        format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{png}"}}}}"#);
    let counted = async |content: String| {
        let body = format!(
            r#"{{"model":"claude-opus-5","max_tokens":1,"messages":[{{"role":"user","content":"a"}},
                {{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"f","input":{{}}}}]}},
                {{"role":"user","content":[{content}]}}]}}"#
        );
        folder.write("body.json", body);
        let shown =
            stave(&folder, ["block", "show", "--body", "body.json", "--json"]).finish().await.exits(0).json();
        let last = items(&shown, "blocks").last().cloned().unwrap_or_default();
        last.pointer("/token_metadata/token_count").and_then(Value::as_i64).unwrap_or_default()
    };
    let alone =
        counted(format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"ok"}},{picture}"#)).await;
    let inside =
        counted(format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{picture}]}}"#)).await;
    for tokens in [alone, inside] {
        assert!((1334..1400).contains(&tokens), "{alone} {inside}");
    }
}

#[tokio::test]
async fn a_diff_names_the_blocks_that_differ() {
    let folder = Folder::new();
    folder.write("a.json", body("Be terse.", TOOL, "One?"));
    folder.write("b.json", body("Be terse.", &TOOL.replace("Looks.", "Looks up."), "Two?"));
    let diff = stave(&folder, ["block", "diff", "--body", "a.json", "b.json", "--json"])
        .finish()
        .await
        .exits(1)
        .json();
    let changes: Vec<&str> =
        items(&diff, "changes").iter().filter_map(|change| text(change, "change")).collect();
    assert_eq!(changes, ["removed", "changed", "added"], "{diff}");
    assert_eq!(diff.get("common_blocks"), Some(&Value::from(1)), "{diff}");
    let same = stave(&folder, ["block", "diff", "--body", "a.json", "a.json"]).finish().await.exits(0);
    assert!(same.stdout.contains("the same blocks"), "{same}");
}

#[tokio::test]
async fn bodies_and_documents_that_are_none_are_rejected() {
    let folder = Folder::new();
    folder.write("body.json", r#"{"a": 1}"#);
    folder.write("twice.json", r#"{"model": "m", "model": "n", "messages": []}"#);
    folder.write("blocks.json", r#"{"ir_id": "x", "blocks": [{"role": "nobody"}], "created_at": 7}"#);
    for arguments in [
        vec!["show", "--body", "body.json"],
        vec!["show", "--body", "twice.json"],
        vec!["show", "--body", "none.json"],
        vec!["show"],
        vec!["check", "body.json"],
    ] {
        stave(&folder, ["block"].into_iter().chain(arguments)).finish().await.exits(2);
    }
    let checked = stave(&folder, ["block", "check", "blocks.json"]).finish().await.exits(2);
    for fault in ["/ir_id", "/blocks/0/role", "/created_at"] {
        assert!(checked.stderr.contains(fault), "{fault}: {checked}");
    }
}
