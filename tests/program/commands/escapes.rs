//! Texts of others do not steer the terminal, whichever command prints them.

use crate::folder::Folder;
use crate::process::{Finished, stave};

/// Window title, clear screen, colour, carriage return, backspace, a C1 control and a bidirectional override.
const HOSTILE: &str = r"\x1b]0;owned\x07\x1b[2J\x1b[31mred\r\x08\x7f\x9b2J\u202egnp.exe\u2066";

fn flow() -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: hostile}}
context: {{requires: [x]}}
nodes:
  fail:
    type: transform
    inputs: [{{name: x, type: string}}]
    outputs: [{{name: y, type: string}}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            print('log {HOSTILE}')
            if inputs['x'] == 'fine':
                return {{'y': 'out {HOSTILE}'}}
            raise ValueError('bad {HOSTILE}' + inputs['x'])
edges:
  - {{from: _input.x, to: fail.x}}
  - {{from: fail.y, to: _output.y}}
"#
    )
}

/// Nothing but text, line feeds, tabs and, where colours are wanted, colours of ours.
#[track_caller]
fn assert_calm(finished: &Finished, colours: bool) {
    for text in [&finished.stdout, &finished.stderr] {
        let text = if colours { without_colours(text) } else { text.clone() };
        let steers = |next: char| {
            (next.is_control() && next != '\n' && next != '\t')
                || matches!(next, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(
            !text.contains(steers),
            "{:?}\n{finished}",
            text.chars().filter(|next| steers(*next)).collect::<String>()
        );
    }
}

fn without_colours(text: &str) -> String {
    // The colours that the hostile text asks for are not ours.
    assert!(!text.contains("\u{1b}[31mred"), "{text:?}");
    let mut calm = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        calm.push_str(before);
        let end = after.find(|next: char| !next.is_ascii_digit() && next != ';').unwrap_or(after.len());
        if after[end..].starts_with('m') {
            rest = &after[end + 1..];
        } else {
            calm.push('\u{1b}');
            rest = after;
        }
    }
    calm + rest
}

#[tokio::test]
async fn no_command_passes_escape_sequences_on() {
    let folder = Folder::new();
    folder.write("flow.yaml", flow());
    let hostile = "\u{1b}]0;x\u{7}\u{9b}\u{202e}";
    let request = stave_canon::Value::from_iter([("x", stave_canon::Value::from(hostile))]).to_string();
    for colour in ["never", "always"] {
        let state = format!("state-{colour}");
        let run = ["run", "flow.yaml", "--input", "-", "--state-dir", &state, "--color", colour];
        let finished = stave(&folder, run).input(&request).finish().await.exits(1);
        assert_calm(&finished, colour == "always");
        let finished = stave(&folder, run).input(r#"{"x": "fine"}"#).finish().await.exits(0);
        assert_calm(&finished, colour == "always");
        let list = stave(&folder, ["runs", "list", "--state-dir", &state, "--json"]).finish().await.exits(0);
        let runs = list.json();
        let runs = runs.get("runs").and_then(|runs| runs.as_array()).unwrap();
        for run in runs {
            let id =
                run.get("run_id").or_else(|| run.get("id")).and_then(|id| id.as_str()).unwrap().to_owned();
            for command in [vec!["runs", "show", &id], vec!["why", &id, "fail"], vec!["runs", "report", &id]]
            {
                let place = ["--state-dir", &state, "--color", colour];
                let arguments: Vec<&str> = command.into_iter().chain(place).collect();
                let finished = stave(&folder, arguments).finish().await;
                assert!(!finished.stdout.is_empty() || !finished.stderr.is_empty());
                assert_calm(&finished, colour == "always");
            }
        }
    }
}

#[tokio::test]
async fn names_and_texts_of_a_flow_are_shown_and_not_obeyed() {
    let folder = Folder::new();
    // YAML's own escapes put the characters into names that are printed.
    let text = flow()
        .replace("name: hostile", r#"name: "host\e]0;x\aile\u202e""#)
        .replace("edges:\n", "edges:\n  - {from: \"no\\e[2Jde\\u202e.x\", to: fail.x}\n");
    folder.write("flow.yaml", &text);
    folder.write(
        "other.yaml",
        flow().replace("raise ValueError", "raise  ValueError").replace("ne'", "ne\u{9b}'"),
    );
    folder.write("good.yaml", flow());
    for command in [
        vec!["check", "flow.yaml"],
        vec!["graph", "flow.yaml"],
        vec!["diff", "good.yaml", "flow.yaml"],
        vec!["diff", "good.yaml", "other.yaml"],
        vec!["check", "no\u{1b}[2J\u{202e}file.yaml"],
        vec!["explain", "no\u{1b}[2Jcode"],
    ] {
        for colour in ["never", "always"] {
            let arguments: Vec<&str> = command.iter().copied().chain(["--color", colour]).collect();
            let finished = stave(&folder, arguments).finish().await;
            assert_calm(&finished, colour == "always");
        }
    }
}
