//! Calls about a text: analysis, edits, chat, language, lines.

use stave_canon::Value;

use crate::json::{items, text};
use crate::serve::{Answer, Served, echo, project};

async fn ask(served: &Served, call: &str, body: Value) -> Answer {
    served.post(&format!("/studio/{call}"), &body.to_string()).await
}

fn about(content: &str) -> Value {
    Value::from_iter([("path", "flows/echo.yaml"), ("text", content)])
}

fn with(mut body: Value, key: &str, value: impl Into<Value>) -> Value {
    body.as_object_mut().unwrap().insert(key.to_owned(), value.into());
    body
}

fn commands(content: &str, list: &str) -> Value {
    with(about(content), "commands", stave_canon::parse(list).unwrap())
}

#[tokio::test]
async fn a_text_is_analysed_with_places_that_a_browser_counts() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    // A character that takes two units ahead of everything moves every offset.
    let content = format!("# 🎵\n{}", echo("")).replace("to: say.query", "to: say.qury");
    let analysis = ask(&served, "analyse", about(&content)).await.is(200).json();
    let found = &items(&analysis, "diagnostics")[0];
    let units: Vec<u16> = content.encode_utf16().collect();
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_i64).unwrap() as usize;
    let said = String::from_utf16_lossy(&units[number(found, "offset")..number(found, "end_offset")]);
    assert_eq!(said, "qury", "{found}");
    let edges = items(analysis.get("graph").unwrap(), "edges");
    assert_eq!(text(&edges[0], "id"), Some("_input.query>say.qury"), "{edges:?}");
    assert!(text(&edges[0], "broken").is_some_and(|reason| reason.contains("say")), "{edges:?}");
    let nodes = items(analysis.get("graph").unwrap(), "nodes");
    let ids: Vec<&str> = nodes.iter().filter_map(|node| text(node, "id")).collect();
    assert_eq!(ids, ["_input", "say", "_output"]);
    assert!(nodes.iter().all(|node| node.pointer("/layout/x").is_some_and(|x| x.as_f64().is_some())));
    let range = nodes[1].get("range").unwrap();
    let whole = String::from_utf16_lossy(&units[number(range, "offset")..number(range, "end_offset")]);
    assert!(whole.starts_with("say:") && whole.ends_with("runtime: {retries: 0}"), "{whole}");
    let fields: Vec<String> = items(&analysis, "request")
        .iter()
        .map(|field| format!("{} {}", text(field, "name").unwrap(), field.get("required").unwrap()))
        .collect();
    assert_eq!(fields, ["query true", "user false"]);
    let nothing = ask(&served, "analyse", about("{{{")).await.is(200).json();
    assert_eq!(nothing.get("graph"), Some(&Value::Null), "{nothing}");
    ask(&served, "analyse", Value::from_iter([("text", 1)])).await.problem(400, "bad-request");
    ask(&served, "analyse", about(&"x".repeat(3 * 1024 * 1024))).await.problem(413, "body-too-large");
}

#[tokio::test]
async fn an_edit_comes_back_as_a_proposal_that_can_be_taken_back() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let content = echo("").replace("  say:\n", "  say:  # speaks\n");
    let moved = commands(&content, r#"[{"op": "set_position", "node": "say", "x": 10, "y": 20}]"#);
    let edited = ask(&served, "edit", moved).await.is(200).json();
    let changed = text(&edited, "text").unwrap().to_owned();
    assert!(changed.contains("# speaks") && changed.contains("x: 10"), "{changed}");
    assert_eq!(edited.pointer("/diff/same"), Some(&true.into()), "a place is no meaning: {edited}");
    let node = items(edited.pointer("/analysis/graph").unwrap(), "nodes")[1].clone();
    assert_eq!(node.pointer("/position/x").and_then(Value::as_f64), Some(10.0), "{node}");
    let mut undo = edited.get("inverse").unwrap().clone();
    undo = with(with(undo, "text", changed.as_str()), "path", "flows/echo.yaml");
    let undone = ask(&served, "edit", undo).await.is(200).json();
    assert_eq!(text(&undone, "text"), Some(content.as_str()));
    assert_eq!(folder.read("flows/echo.yaml"), echo(""), "nothing is written");

    let renamed = commands(&content, r#"[{"op": "rename_node", "from": "say", "to": "tell"}]"#);
    let edited = ask(&served, "edit", renamed).await.is(200).json();
    let shown: Vec<&str> = items(&edited, "shown").iter().filter_map(Value::as_str).collect();
    assert!(shown.contains(&"~ node `say` is `tell`"), "{shown:?}");
    let refused = commands(&content, r#"[{"op": "remove_node", "id": "nobody"}]"#);
    let problem = ask(&served, "edit", refused).await.problem(422, "edit-refused");
    assert_eq!(text(&problem, "reason"), Some("unknown"), "{problem}");
    let unfed = commands(&content, r#"[{"op": "disconnect", "from": "_input.query", "to": "say.query"}]"#);
    let problem = ask(&served, "edit", unfed.clone()).await.problem(422, "edit-refused");
    assert_eq!(text(&problem, "reason"), Some("adds-errors"), "{problem}");
    assert!(!items(&problem, "diagnostics").is_empty(), "{problem}");
    let allowed = ask(&served, "edit", with(unfed, "allow_errors", true)).await.is(200).json();
    assert_eq!(allowed.pointer("/analysis/summary/errors").and_then(Value::as_i64), Some(1), "{allowed}");
    ask(&served, "edit", commands(&content, r#"[{"op": "fly"}]"#)).await.problem(400, "bad-request");
}

#[tokio::test]
async fn every_node_of_the_palette_can_be_added_and_connected() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let palette = served.get("/studio/palette").await.is(200).json();
    assert!(items(&palette, "items").len() >= 14, "{palette}");
    for item in items(&palette, "items") {
        let mut add = Value::from_iter([("op", "add_node"), ("id", "added")]);
        add = with(add, "node", item.get("node").unwrap().clone());
        let body = with(with(about(&echo("")), "commands", vec![add]), "allow_errors", true);
        let edited = ask(&served, "edit", body).await.is(200).json();
        assert!(text(&edited, "text").unwrap().contains("  added:"), "{item}");
    }
    let from = with(about(&echo("")), "from", "say.reply");
    let answer = ask(&served, "connectable", from).await.is(200).json();
    let targets = items(&answer, "targets");
    assert_eq!(text(&targets[0], "to"), Some("say.query"), "{answer}");
    assert_eq!(targets[0].get("allowed"), Some(&false.into()), "{answer}");
    let to = with(about(&echo("")), "to", "say.query");
    let answer = ask(&served, "connectable", to).await.is(200).json();
    assert_eq!(items(&answer, "sources").len(), 3, "{answer}");
    ask(&served, "connectable", about(&echo(""))).await.problem(400, "bad-request");
    let schema = served.get("/studio/commands").await.is(200).json();
    assert!(schema.pointer("/properties/commands").is_some(), "{schema}");
}

#[tokio::test]
async fn a_sentence_is_understood_without_a_model_or_said_not_to_be() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let body = with(about(&echo("")), "message", "rename say to tell");
    let edited = ask(&served, "chat", body).await.is(200).json();
    assert_eq!(text(&edited, "by"), Some("grammar"), "{edited}");
    assert!(text(&edited, "text").unwrap().contains("  tell:"), "{edited}");
    let body = with(about(&echo("")), "message", "make it sing like a bird");
    let problem = ask(&served, "chat", body).await.problem(422, "not-understood");
    assert!(!items(&problem, "forms").is_empty(), "{problem}");
    ask(&served, "chat", with(about(&echo("")), "message", " ")).await.problem(400, "bad-request");
    ask(&served, "chat", with(about("- x"), "message", "rename say to tell"))
        .await
        .problem(422, "edit-refused");
}

#[tokio::test]
async fn an_editor_is_told_what_stands_somewhere() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let content = echo("");
    let at = |needle: &str| with(about(&content), "offset", content.find(needle).unwrap() + needle.len() - 1);
    let hover = ask(&served, "hover", at("to: say.query")).await.is(200).json();
    assert!(text(&hover, "markdown").is_some_and(|said| said.contains("query")), "{hover}");
    let found = ask(&served, "definition", at("to: say.query")).await.is(200).json();
    let line = items(&found, "ranges")[0].get("line").and_then(Value::as_i64).unwrap();
    assert_eq!(content.lines().nth(line as usize - 1), Some("      - {name: query, type: string}"));
    let all = ask(&served, "references", at("to: say.query")).await.is(200).json();
    assert!(items(&all, "ranges").len() >= 2, "{all}");
    let half = content.replace("to: say.query", "to: say.");
    let offset = half.find("to: say.").unwrap() + "to: say.".len();
    let offered = ask(&served, "completion", with(about(&half), "offset", offset)).await.is(200).json();
    let labels: Vec<&str> = items(&offered, "items").iter().filter_map(|item| text(item, "label")).collect();
    assert!(labels.iter().any(|label| label.contains("query")), "{labels:?}");
    let formatted =
        ask(&served, "format", about(&content.replace("  say:", "  say:   "))).await.is(200).json();
    assert!(text(&formatted, "text").unwrap().contains("  say:\n"), "{formatted}");
    ask(&served, "hover", about(&content)).await.problem(400, "bad-request");
    ask(&served, "hover", with(about(&content), "offset", 99_999_999)).await.is(200);
}

#[tokio::test]
async fn the_lines_of_a_flow_say_which_parts_belong_together() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let lines = ask(&served, "lines", Value::from_iter([("path", "flows/echo.yaml")])).await.is(200).json();
    let part = |id: &str| {
        let found = items(&lines, "parts").iter().find(|part| text(part, "id") == Some(id));
        found.unwrap_or_else(|| panic!("no {id} in {lines}")).clone()
    };
    let content = |line: &str| lines.get(line).and_then(|line| text(line, "text")).unwrap();
    let cut = |line: &str, range: &Value| {
        let number = |key: &str| range.get(key).and_then(Value::as_i64).unwrap() as usize;
        content(line)[number("offset")..number("end_offset")].to_owned()
    };
    let node = part("node:say");
    for line in ["flow", "exec", "system"] {
        let range = &items(&node, line)[0];
        assert!(cut(line, range).contains("say"), "{line}: {range}");
    }
    let edge = part("edge:0");
    assert!(cut("flow", &items(&edge, "flow")[0]).contains("_input.query"));
    assert!(cut("exec", &items(&edge, "exec")[0]).contains(r#""_input""#));
    assert_eq!(lines.pointer("/facts/tenant"), Some(&"acme".into()), "{lines}");
    assert!(
        items(lines.get("facts").unwrap(), "contracts").iter().any(|one| text(one, "node") == Some("say"))
    );
    for line in ["bundle", "manifest"] {
        assert!(stave_canon::parse(content(line)).is_ok(), "{line}");
    }
    let broken = about(&echo("").replace("to: say.query", "to: nobody.query"));
    let problem = ask(&served, "lines", broken).await.problem(422, "invalid-flow");
    assert!(problem.to_string().contains("dangling-edge"), "{problem}");
}

#[tokio::test]
async fn a_model_answers_what_the_grammar_does_not_and_governance_comes_first() {
    let folder = project();
    folder.write(
        "recording.yaml",
        r#"version: 1
exchanges:
  - match: {contains: "hum"}
    response:
      content:
        - {type: tool_use, id: a, name: rename_node, arguments: "{\"from\": \"say\", \"to\": \"hum\"}"}
"#,
    );
    let policy = "extends: default\npolicies:\n  - name: no_songs\n    type: intent\n    action: deny\n    forbidden_keywords: [sing]\n";
    folder.write("policies/default.yaml", policy);
    let served = Served::start(&folder, &["--replay", "recording.yaml"]).await;
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.pointer("/chat/model"), Some(&"recorded".into()), "{session}");
    let wish = |message: &str| with(about(&echo("")), "message", message);
    let edited = ask(&served, "chat", wish("it should hum rather than speak")).await.is(200).json();
    assert_eq!(text(&edited, "by"), Some("model"), "{edited}");
    assert!(text(&edited, "text").unwrap().contains("  hum:"), "{edited}");
    let offline = with(wish("it should hum rather than speak"), "offline", true);
    ask(&served, "chat", offline).await.problem(422, "not-understood");
    ask(&served, "chat", wish("it should sing rather than speak")).await.problem(403, "refused");
    ask(&served, "chat", wish("something nobody recorded")).await.problem(502, "model-failed");
    // Without a path nobody's model is asked.
    let pathless =
        Value::from_iter([("text", echo("").as_str()), ("message", "it should hum rather than speak")]);
    ask(&served, "chat", pathless).await.problem(422, "not-understood");
    assert_eq!(folder.read("flows/echo.yaml"), echo(""), "nothing is written");
}
