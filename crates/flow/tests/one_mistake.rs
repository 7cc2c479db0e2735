//! One mistake is one error: a flow that is sound but for one part that cannot be read has exactly the
//! error of that part, whatever else needed it.

use stave_diag::SourceId;
use stave_flow::{CheckOptions, load};

const SOUND: &str = r#"version: "1.0"
metadata:
  name: sound
context:
  requires: [question, session_id]
nodes:
  ask:
    type: transform
    inputs:
      - name: question
        type: string
      - name: history
        type: array
    outputs:
      - name: answer
        type: string
    error:
      name: failed
    prompt:
      template: "{{ question }} {{ history }}"
      tools:
        - name: look
          description: looks something up
          parameters: {type: object, properties: {key: {type: string}}}
          maps_to: find
  recall:
    type: transform
    inputs:
      - name: session
        type: string
    outputs:
      - name: history
        type: array
    state:
      scope: session
      key: "talk_{context.session_id}"
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {'history': await state.get(inputs['session'], [])}
  find:
    type: transform
    inputs:
      - name: key
        type: string
    outputs:
      - name: found
        type: object
    transform:
      mode: declarative
      spec:
        op: http.get
        args:
          url: "https://search.example.com/${key}"
  sorry:
    type: transform
    inputs:
      - name: error
        type: object
    outputs:
      - name: answer
        type: string
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {'answer': inputs['error']['reason']}
edges:
  - {from: _input.question, to: ask.question}
  - {from: _input.session_id, to: recall.session}
  - {from: recall.history, to: ask.history}
  - {from: ask.answer, to: _output}
  - {from: ask.failed, to: sorry.error}
  - {from: sorry.answer, to: _output}
"#;

fn errors(text: &str) -> Vec<&'static str> {
    let found = load(SourceId(0), text, &CheckOptions::default()).diagnostics;
    found.iter().filter(|found| found.is_error()).map(|found| found.code.0).collect()
}

/// The codes of errors and warnings.
fn findings(text: &str) -> Vec<&'static str> {
    load(SourceId(0), text, &CheckOptions::default()).diagnostics.iter().map(|found| found.code.0).collect()
}

#[test]
fn the_flow_is_sound() {
    assert_eq!(errors(SOUND), [""; 0]);
}

#[test]
fn what_could_not_be_read_is_not_missed_again() {
    let table = [
        ("  requires: [question, session_id]\n", "  optional: [more]\n", "missing-field"),
        ("requires: [question, session_id]", "requires: question", "wrong-type"),
        ("context:\n  requires: [question, session_id]\n", "context:\n", "wrong-type"),
        ("context:\n  requires: [question, session_id]\n", "", "missing-field"),
        ("      - name: question\n        type: string\n", "      - type: string\n", "missing-field"),
        ("      - name: question\n        type: string\n", "      - question\n", "wrong-type"),
        ("      - name: session\n        type: string\n", "      session: string\n", "wrong-type"),
        (
            "      - name: key\n        type: string\n",
            "      - name: 17\n        type: string\n",
            "wrong-type",
        ),
        ("    outputs:\n      - name: found\n        type: object\n", "", "missing-field"),
        (
            "    outputs:\n      - name: history\n        type: array\n",
            "    outputs: history\n",
            "wrong-type",
        ),
        ("      name: failed\n", "      type: object\n", "missing-field"),
        (
            "    state:\n      scope: session\n      key: \"talk_{context.session_id}\"\n",
            "    state: 3\n",
            "wrong-type",
        ),
        ("          maps_to: find\n", "          maps_to: fnd\n", "unknown-tool-target"),
        ("          maps_to: find\n", "          maps_to: 3\n", "wrong-type"),
        ("{key: {type: string}}", "{kay: {type: string}}", "tool-parameter"),
        ("{key: {type: string}}", "3", "bad-schema"),
        ("to: ask.history}", "too: ask.history}", "missing-field"),
        ("  - {from: recall.history, to: ask.history}\n", "  - recall.history\n", "wrong-type"),
    ];
    for (part, other, code) in table {
        let text = SOUND.replacen(part, other, 1);
        assert_ne!(text, SOUND, "{part}");
        assert_eq!(errors(&text), [code], "{part:?} -> {other:?}");
    }
}

#[test]
fn a_part_that_could_not_be_read_is_not_taken_for_an_absent_one() {
    let question =
        ("      - name: question\n        type: string\n", "  - {from: _input.question, to: ask.question}\n");
    let history = "      - name: history\n        type: array\n";
    let table: [(&str, &[(&str, &str)]); 8] = [
        (
            "outputs",
            &[("    outputs:\n      - name: history\n        type: array\n", "    outputs: history\n")],
        ),
        (
            "the transform of an edge",
            &[
                (history, "      - name: history\n        type: number\n"),
                ("to: ask.history}", "to: ask.history, transform: [1]}"),
            ],
        ),
        (
            "the condition of an edge",
            &[(
                "  - {from: ask.answer, to: _output}\n",
                "  - {from: ask.answer, to: _output}\n  - {from: recall.history, to: _output, condition: 3}\n",
            )],
        ),
        ("an edge", &[("  - {from: recall.history, to: ask.history}\n", "  - recall.history\n")]),
        (
            "whether an input is optional",
            &[(question.0, "      - {name: question, type: string, optional: yes}\n"), (question.1, "")],
        ),
        (
            "the context of the deployment",
            &[
                ("{{ question }}", "{{ question }} {{ context.region }}"),
                ("nodes:\n", "deployment: {target: local, context: 3}\nnodes:\n"),
            ],
        ),
        (
            "the model of a fallback",
            &[("      tools:\n", "      fallback: {on: any, model: gpt}\n      tools:\n")],
        ),
        (
            "the key of a cache",
            &[("    state:\n", "    runtime: {cache: {ttl_seconds: 5, key: 3}}\n    state:\n")],
        ),
    ];
    for (what, changes) in table {
        let mut text = SOUND.to_owned();
        for (part, other) in changes {
            let changed = text.replacen(part, other, 1);
            assert_ne!(changed, text, "{what}: {part}");
            text = changed;
        }
        assert_eq!(findings(&text), ["wrong-type"], "{what}");
    }
}

#[test]
fn a_node_that_can_not_be_read_is_still_known_by_its_name() {
    let start = SOUND.find("  recall:\n").expect("the node");
    let end = SOUND.find("  find:\n").expect("the next node");
    let text = format!("{}  recall: 3\n{}", &SOUND[..start], &SOUND[end..]);
    assert_eq!(errors(&text), ["wrong-type"]);
}

#[test]
fn lists_that_can_not_be_read_are_one_error() {
    let edges = SOUND.find("edges:\n").expect("the edges");
    assert_eq!(errors(&format!("{}edges: {{}}\n", &SOUND[..edges])), ["wrong-type"]);
    let nodes = SOUND.find("nodes:\n").expect("the nodes");
    assert_eq!(errors(&format!("{}nodes: []\n{}", &SOUND[..nodes], &SOUND[edges..])), ["wrong-type"]);
}

#[test]
fn two_mistakes_are_two_errors() {
    let text = SOUND.replacen("requires: [question, session_id]", "requires: [question, session_id, 3]", 1);
    let text = text.replacen("{{ history }}", "{{ histery }}", 1);
    assert_eq!(errors(&text), ["wrong-type", "unknown-template-variable"]);
}
