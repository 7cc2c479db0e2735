//! `stave prompt validate`, and what `stave prompt compile` says about answers and files.

use stave_canon::Value;

use super::prompt::{document, project};
use crate::json::items;
use crate::process::stave;

const VALIDATE: [&str; 5] = ["prompt", "validate", "-", "--against", "prompt.json"];

#[tokio::test]
async fn all_problems_of_a_reply_are_told_with_their_pointers() {
    let requirements = r#"{"design": "string", "parts": [{"name": "string"}]}"#;
    let folder = project(&[("prompt.json", &document(&[("output_requirements", requirements)]))]);
    let run = |reply: &str| stave(&folder, VALIDATE.into_iter().chain(["--json"])).input(reply).finish();
    let finished = run(r#"{"design": 1, "parts": [{"name": "a"}, {"name": 2}, {}]}"#).await.exits(1);
    let value = finished.json();
    let pointers: Vec<&str> = items(&value, "problems")
        .iter()
        .filter_map(|problem| problem.get("pointer").and_then(Value::as_str))
        .collect();
    assert_eq!(pointers, ["/design", "/parts/1/name", "/parts/2"]);
    let finished = run("Sure:\n```json\n{'design': 'd', 'parts': []}\n```\n").await.exits(0);
    assert_eq!(finished.json().get("repairs").unwrap().to_string(), r#"["single_quotes"]"#);
    let finished = run(r#"{"error": "no idea"}"#).await.exits(1);
    assert_eq!(finished.json().get("error_reply"), Some(&Value::Bool(true)));
    run("no JSON").await.exits(1);
}

#[tokio::test]
async fn documents_that_are_invalid_are_told_from_replies_that_are() {
    let folder = project(&[("prompt.json", &document(&[("priority", "11")]))]);
    stave(&folder, VALIDATE).input("{}").finish().await.exits(2);
    folder
        .write("prompt.json", document(&[("output_requirements", r#"{"type": "object", "properties": 3}"#)]));
    stave(&folder, VALIDATE).input("{}").finish().await.exits(2);
    folder.write(
        "prompt.json",
        document(&[("output_requirements", r#"{"format": "xml", "max_tokens": "x"}"#)]),
    );
    stave(&folder, VALIDATE).input("{}").finish().await.exits(2);
    stave(&folder, ["prompt", "validate", "-", "--against", "-"]).input("{}").finish().await.exits(2);
    folder.write("prompt.json", document(&[("role", "\"nobody\"")]));
    stave(&folder, VALIDATE).input("anything").finish().await.exits(0);
}

#[tokio::test]
async fn length_and_headings_are_checked() {
    let requirements = r#"{"format": "markdown", "required_fields": ["Risks"], "max_tokens": 4}"#;
    let fields = [("output_requirements", requirements), ("model_hint", "\"openai\"")];
    let folder = project(&[("prompt.json", &document(&fields))]);
    stave(&folder, VALIDATE).input("# Risks\n").finish().await.exits(0);
    let finished = stave(&folder, VALIDATE).input("There are no risks at all here.").finish().await.exits(1);
    assert!(finished.stderr.contains("the heading `Risks` is missing"), "{finished}");
    assert!(finished.stderr.contains("more than 4"), "{finished}");
}

#[tokio::test]
async fn compiled_prompts_show_what_holds_and_which_files_they_contain() {
    let refs = r#"["file:a.txt", "file:gone.txt", "file:long.txt"]"#;
    let fields = [
        ("context_refs", refs),
        ("token_budget", "350"),
        ("temperature_hint", "0.2"),
        ("output_requirements", r#"{"plan": "string"}"#),
    ];
    let long = "word ".repeat(3000);
    let folder = project(&[("a.txt", "alpha"), ("long.txt", &long), ("prompt.json", &document(&fields))]);
    let value = stave(&folder, ["prompt", "compile", "prompt.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(value.get("temperature").and_then(Value::as_f64), Some(0.2));
    let required = value.pointer("/output_schema/schema_definition/required").unwrap();
    assert_eq!(required.to_string(), r#"["plan"]"#);
    let summary = value.get("context_summary").unwrap();
    let content = value.get("content").and_then(Value::as_str).unwrap();
    let included = summary.get("files_included").unwrap().to_string();
    assert!(included.contains("a.txt") && !included.contains("gone.txt"), "{included}");
    assert_eq!(included.contains("long.txt"), content.contains("word word"));
    let left_out = summary.get("files_left_out").unwrap().to_string();
    assert!(left_out.contains("file:gone.txt") && left_out.contains("missing"), "{left_out}");
}

#[tokio::test]
async fn the_effective_schema_is_that_of_the_prompt_of_its_schema_id_or_of_its_role() {
    let roles = "schemas:\n  verdict: {guilty: boolean}\n";
    for (fields, required) in [
        (vec![("output_requirements", r#"{"plan": "string"}"#)], r#"["plan"]"#),
        (vec![("schema_id", "\"verdict\"")], r#"["guilty"]"#),
        (vec![], r#"["system_design","components","risks"]"#),
    ] {
        let folder = project(&[("templates/roles.yaml", roles), ("prompt.json", &document(&fields))]);
        let compiled = stave(&folder, ["prompt", "compile", "prompt.json", "--json"]).finish().await.exits(0);
        let value = compiled.json();
        let shown = value.pointer("/output_schema/schema_definition/required").unwrap().to_string();
        assert_eq!(shown, required, "{fields:?}");
    }
}

#[tokio::test]
async fn a_template_says_format_fields_example_error_and_length_to_every_provider() {
    let roles = "templates:\n  architect:\n    goal: Plan.\n    output_schema: {format: markdown, required_fields: [Plan, Risks], example: \"# Plan\", \
                 error_format: \"No plan.\", max_tokens: 321}\n";
    for provider in ["openai", "anthropic", "ollama", "azure"] {
        let hint = format!("\"{provider}\"");
        let folder =
            project(&[("templates/roles.yaml", roles), ("prompt.json", &document(&[("model_hint", &hint)]))]);
        let text =
            stave(&folder, ["prompt", "compile", "prompt.json", "--text"]).finish().await.exits(0).stdout;
        for said in ["Reply in Markdown", "Plan, Risks", "# Plan", "No plan.", "321"] {
            assert!(text.contains(said), "{provider} {said}: {text}");
        }
        assert!(!text.contains("JSON"), "{provider}: {text}");
    }
    // Another template than the role's, by its name.
    let fields = [("metadata", r#"{"template_id": "writer"}"#)];
    let folder = project(&[("prompt.json", &document(&fields))]);
    let value = stave(&folder, ["prompt", "compile", "prompt.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(value.pointer("/compilation_metadata/template").and_then(Value::as_str), Some("writer"));
    folder.write("prompt.json", document(&[("metadata", r#"{"template_id": "poet"}"#)]));
    let refused = stave(&folder, ["prompt", "compile", "prompt.json", "--json"]).finish().await.exits(2);
    assert!(refused.stdout.contains("unknown_template"), "{refused}");
}
