//! `stave lsp`: a scripted editor speaks to it over stdin and stdout.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::folder::{Folder, repository_file};

/// An editor with one open document.
struct Editor {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: i64,
    text: String,
    version: i64,
}

const URI: &str = "file:///flows/support.yaml";

impl Editor {
    fn open(text: &str) -> Self {
        Editor::open_as(URI, text)
    }

    fn open_as(uri: &str, text: &str) -> Self {
        let folder = Folder::new();
        let mut child = Command::new(env!("CARGO_BIN_EXE_stave"))
            .arg("lsp")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("stave starts");
        let stdin = child.stdin.take().expect("stdin is piped");
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut editor = Editor { child, stdin, stdout, next: 1, text: text.to_owned(), version: 1 };
        let answer = editor.ask("initialize", json!({"capabilities": {}}));
        assert_eq!(answer.pointer("/capabilities/hoverProvider"), Some(&json!(true)));
        editor.tell("initialized", json!({}));
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        editor.tell("textDocument/didOpen", json!({"textDocument": document}));
        editor
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server reads");
        self.stdin.flush().expect("the server reads");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).expect("the server writes");
            assert!(read > 0, "the server went away");
            match line.trim().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().expect("a number"),
                _ if line.trim().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.stdout.read_exact(&mut body).expect("the whole message");
        serde_json::from_slice(&body).expect("JSON")
    }

    fn tell(&mut self, method: &str, params: Value) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        message["params"] = params;
        self.send(&message);
    }

    /// Asks and waits for the whole answer, passing over what the server says by itself.
    fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        message["params"] = params;
        self.send(&message);
        loop {
            let message = self.receive();
            if message.get("id") == Some(&json!(id)) {
                return message;
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        answer.get("result").cloned().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// The position right behind a part of the text, in UTF-16.
    fn behind(&self, part: &str) -> Value {
        let end = self.text.find(part).unwrap_or_else(|| panic!("{part:?}")) + part.len();
        let line = self.text[..end].matches('\n').count();
        let start = self.text[..end].rfind('\n').map_or(0, |newline| newline + 1);
        json!({"line": line, "character": self.text[start..end].encode_utf16().count()})
    }

    fn at(&mut self, method: &str, part: &str) -> Value {
        let position = self.behind(part);
        self.ask(method, json!({"textDocument": {"uri": URI}, "position": position}))
    }

    /// Types a text behind a part of the document.
    fn type_behind(&mut self, part: &str, typed: &str) {
        let position = self.behind(part);
        let offset = self.text.find(part).expect("the part") + part.len();
        self.text.insert_str(offset, typed);
        self.version += 1;
        let change = json!({"range": {"start": position, "end": position}, "text": typed});
        let document = json!({"uri": URI, "version": self.version});
        self.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
    }

    /// The next findings that are published.
    fn findings(&mut self) -> Vec<Value> {
        loop {
            let message = self.receive();
            if message.get("method") == Some(&json!("textDocument/publishDiagnostics")) {
                assert_eq!(message.pointer("/params/version"), Some(&json!(self.version)));
                let list = message.pointer("/params/diagnostics").and_then(Value::as_array);
                return list.expect("a list").clone();
            }
        }
    }

    fn close(mut self) {
        self.ask("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.child.wait().expect("the server ends").success());
    }
}

impl Drop for Editor {
    /// A failed test leaves no process behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn codes(findings: &[Value]) -> Vec<&str> {
    let errors = findings.iter().filter(|finding| finding.get("severity") == Some(&json!(1)));
    errors.filter_map(|finding| finding.get("code")?.as_str()).collect()
}

/// The text of a range, as an editor would cut it.
fn cut(text: &str, range: &Value) -> String {
    let number = |pointer: &str| range.pointer(pointer).and_then(Value::as_u64).expect("a number") as usize;
    let line = text.lines().nth(number("/start/line")).expect("the line");
    let units: Vec<u16> = line.encode_utf16().collect();
    String::from_utf16(&units[number("/start/character")..number("/end/character")])
        .expect("whole characters")
}

#[test]
fn an_editor_is_told_findings_and_gets_answers() {
    // An emoji ahead of names on their line shifts bytes and UTF-16 units apart.
    let example = repository_file("tests/program/data/complete_example.yaml")
        .replace("Customer Query: {{ query }}", "😀é Customer Query: {{ query }}");
    let mut editor = Editor::open(&example);
    let findings = editor.findings();
    assert_eq!(codes(&findings), ["dangling-edge"]);
    let range =
        findings.iter().find(|finding| finding["code"] == json!("dangling-edge")).unwrap()["range"].clone();
    assert_eq!(cut(&example, &range), "error_handler");

    let hover = editor.at("textDocument/hover", "😀é Customer Query: {{ que");
    let said = hover.pointer("/contents/value").and_then(Value::as_str).unwrap();
    assert!(said.contains("comes from the request's `query`"), "{said}");
    assert_eq!(cut(&example, &hover["range"]), "query");

    let definition = editor.at("textDocument/definition", "😀é Customer Query: {{ que");
    assert_eq!(cut(&example, &definition[0]["range"]), "query");
    let references = editor.at("textDocument/references", "to: fetch_cust");
    assert_eq!(references.as_array().unwrap().len(), 3);

    let symbols = editor.ask("textDocument/documentSymbol", json!({"textDocument": {"uri": URI}}));
    let names: Vec<&str> =
        symbols.as_array().unwrap().iter().filter_map(|symbol| symbol["name"].as_str()).collect();
    assert!(names.contains(&"generate_response") && names.contains(&"user_id"), "{names:?}");

    let position = editor.behind("😀é Customer Query: {{ que");
    let rename = editor.ask(
        "textDocument/rename",
        json!({"textDocument": {"uri": URI}, "position": position, "newName": "question"}),
    );
    let edits = rename.pointer("/changes/file:~1~1~1flows~1support.yaml").and_then(Value::as_array).unwrap();
    assert_eq!(edits.len(), 3);
    for edit in edits {
        assert_eq!(cut(&example, &edit["range"]), "query");
    }
    let refused = editor.answer(
        "textDocument/rename",
        json!({"textDocument": {"uri": URI}, "position": editor.behind("😀é Customer Query: {{ que"), "newName": "history"}),
    );
    assert!(refused.get("error").is_some(), "{refused}");
    editor.close();
}

#[test]
fn typing_brings_offers_findings_and_cures() {
    let example = repository_file("tests/program/data/complete_example.yaml");
    let mut editor = Editor::open(&example);
    editor.findings();
    editor.type_behind("as_of: \"${context.event_time}\"\n", "          ver");
    let offers = editor.at("textDocument/completion", "          ver");
    let labels: Vec<&str> =
        offers.as_array().unwrap().iter().filter_map(|offer| offer["label"].as_str()).collect();
    assert!(labels.contains(&"version") && labels.contains(&"features"), "{labels:?}");
    editor.type_behind("          ver", "sion: latest\n");
    editor.type_behind("      retr", "y");
    let findings = editor.findings();
    let slip = findings.iter().find(|finding| finding["code"] == json!("unknown-field")).expect("a slip");
    let actions = editor.ask(
        "textDocument/codeAction",
        json!({"textDocument": {"uri": URI}, "range": slip["range"], "context": {"diagnostics": []}}),
    );
    assert_eq!(actions[0]["kind"], json!("quickfix"), "{actions}");
    let edit = actions[0].pointer("/edit/changes/file:~1~1~1flows~1support.yaml/0/newText");
    assert_eq!(edit, Some(&json!("retries")));
    let formatted = editor.ask(
        "textDocument/formatting",
        json!({"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": true}}),
    );
    assert!(formatted.is_array(), "{formatted}");
    let unknown = editor.answer("textDocument/foldingRange", json!({"textDocument": {"uri": URI}}));
    assert_eq!(unknown.pointer("/error/code"), Some(&json!(-32601)));
    editor.close();
}

/// A flow so large that an answer about it takes a while.
fn large() -> String {
    let mut text = "version: \"1.0\"\nmetadata: {name: large}\ncontext: {requires: [x]}\nnodes:\n".to_owned();
    let mut edges = String::new();
    for number in 0..1500 {
        text.push_str(&format!(
            "  n{number}:\n    type: transform\n    inputs: [{{name: x, type: string}}]\n    \
             outputs: [{{name: y, type: string}}]\n    prompt: {{template: \"{{{{ x }}}} {number}\"}}\n"
        ));
        edges.push_str(&format!(
            "  - {{from: _input.x, to: n{number}.x}}\n  - {{from: n{number}.y, to: _output.y{number}}}\n"
        ));
    }
    format!("{text}edges:\n{edges}")
}

#[test]
fn a_request_that_was_taken_back_or_overtaken_is_not_answered() {
    let mut editor = Editor::open(&large());
    let place = json!({"textDocument": {"uri": URI}, "position": editor.behind("  n7")});
    let hover =
        |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "textDocument/hover", "params": place});
    let error = |editor: &mut Editor, id: i64| loop {
        let message = editor.receive();
        if message.get("id") == Some(&json!(id)) {
            return message.pointer("/error/code").cloned();
        }
    };
    editor.send(&hover(900));
    editor.tell("$/cancelRequest", json!({"id": 900}));
    assert_eq!(error(&mut editor, 900), Some(json!(-32800)), "cancelled");

    // The text is another one, so it is read anew, and what was typed meanwhile makes the answer stale.
    editor.type_behind("metadata: {name: large", "r");
    editor.send(&hover(901));
    editor.type_behind("metadata: {name: larger", "r");
    assert_eq!(error(&mut editor, 901), Some(json!(-32801)), "overtaken");
    editor.send(&hover(902));
    assert_eq!(error(&mut editor, 902), None, "answered");
    editor.close();
}

const PEOPLE: &str = r#"version: "1.0"
metadata: {name: people}
context: {requires: [id]}
nodes:
  fetch:
    type: transform
    inputs: [{name: id, type: string}]
    outputs:
      - name: row
        type: object
        schema: {type: object, properties: {name: {type: string}}, required: [name]}
    transform:
      mode: declarative
      spec: {op: http.get, args: {url: "https://people.example.com/${id}?${context.region}"}}
  greet:
    type: transform
    inputs: [{name: row, type: object}]
    outputs: [{name: text, type: string}]
    prompt: {template: "Hello {{ row.name }}"}
edges:
  - {from: _input.id, to: fetch.id}
  - {from: fetch.row, to: greet.row, condition: "value['name'] != ''"}
  - {from: greet.text, to: _output}
deployment:
  target: local
  context: {region: {env: REGION}}
"#;

#[test]
fn properties_and_deployed_fields_are_explained_and_renamed() {
    let mut editor = Editor::open(PEOPLE);
    assert_eq!(codes(&editor.findings()), [""; 0]);
    let hover = editor.at("textDocument/hover", "{{ row.na");
    let said = hover.pointer("/contents/value").and_then(Value::as_str).unwrap();
    assert!(said.contains("property `name`: `string`") && said.contains("`fetch.row`"), "{said}");
    for (place, from, count) in [("{{ row.na", "name", 4), ("${context.reg", "region", 2)] {
        let position = editor.behind(place);
        let params = json!({"textDocument": {"uri": URI}, "position": position, "newName": "other"});
        let rename = editor.ask("textDocument/rename", params);
        let edits =
            rename.pointer("/changes/file:~1~1~1flows~1support.yaml").and_then(Value::as_array).unwrap();
        assert_eq!(edits.len(), count, "{rename}");
        for edit in edits {
            assert_eq!(cut(PEOPLE, &edit["range"]), from);
        }
    }
    editor.close();
}

#[test]
fn workflows_and_policies_have_the_findings_of_their_own_checker() {
    let workflow = "version: 1\nworkflow: a\nsteps:\n  - one(http.get):\n      url: $input.place\n";
    let policy = "version: 1\narms:\n  a:\n    x: 1\nevaluate:\n  y = arms.active.z\nemit:\n  y: y\n";
    for (uri, text, wanted, under) in [
        ("file:///flows/a.wdl", workflow, "wdl-missing-input", "$input.place"),
        ("file:///flows/a.pdl", policy, "pdl-unknown-field", "z"),
    ] {
        let mut editor = Editor::open_as(uri, text);
        let findings = editor.findings();
        assert_eq!(codes(&findings), [wanted]);
        assert_eq!(cut(text, &findings[0]["range"]), under);
        let document = json!({"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": true}});
        assert_eq!(
            editor.ask("textDocument/formatting", document),
            json!([]),
            "a flow's layout is not its own"
        );
        let symbols = editor.ask("textDocument/documentSymbol", json!({"textDocument": {"uri": uri}}));
        assert_eq!(symbols, json!([]));
        editor.close();
    }
}
