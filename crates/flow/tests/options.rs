//! What the caller of a check can choose, and what never depends on it.

use stave_diag::{Severity, SourceId};
use stave_flow::{CheckOptions, load};

/// A flow with one prompt node whose provider and output schema are given.
fn flow(provider: &str, output_schema: &str) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: ask}}
context: {{requires: [question]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: question, type: string}}]
    outputs: [{{name: reply, type: object}}]
    prompt:
      template: "{{{{ question }}}}"
      model: {{provider: {provider}, name: m}}
      output_schema: {output_schema}
edges:
  - {{from: _input.question, to: ask.question}}
  - {{from: ask.reply, to: _output}}
"#
    )
}

fn found(text: &str, options: &CheckOptions) -> Vec<(&'static str, Severity)> {
    let findings = load(SourceId(0), text, options).diagnostics;
    findings.iter().map(|found| (found.code.0, found.severity)).collect()
}

#[test]
fn a_provider_is_named_by_the_specification_or_by_the_project() {
    let configured = CheckOptions { providers: vec!["cellar".to_owned()], ..CheckOptions::default() };
    let strict = CheckOptions { strict: true, ..configured.clone() };
    let schema = "{type: object}";
    for provider in ["openai", "openai-responses", "anthropic", "azure", "ollama"] {
        assert_eq!(found(&flow(provider, schema), &CheckOptions::default()), [], "{provider}");
    }
    assert_eq!(
        found(&flow("cellar", schema), &CheckOptions::default()),
        [("unknown-provider", Severity::Error)]
    );
    assert_eq!(found(&flow("cellar", schema), &configured), [("unknown-provider", Severity::Warning)]);
    assert!(found(&flow("cellar", schema), &strict).contains(&("unknown-provider", Severity::Error)));
}

#[test]
fn a_provider_without_a_client_is_a_warning_in_every_dialect() {
    let strict = CheckOptions { strict: true, ..CheckOptions::default() };
    for options in [CheckOptions::default(), strict] {
        let findings = load(SourceId(0), &flow("bedrock", "{type: object}"), &options).diagnostics;
        let found = findings.iter().find(|found| found.code.0 == "provider-without-client").unwrap();
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.help.is_some(), "{found:?}");
    }
}

#[test]
fn a_schema_is_judged_by_the_draft_it_names_and_fetches_nothing() {
    let good = [
        "true",
        "{}",
        "{$ref: '#/definitions/a', definitions: {a: {type: object}}}",
        "{properties: {child: {$ref: '#'}}}",
        "{$schema: 'https://json-schema.org/draft/2020-12/schema', type: object, $defs: {a: {type: string}}}",
        "{$schema: 'http://json-schema.org/draft-04/schema#', type: object, properties: {n: {minimum: 1, exclusiveMinimum: true}}}",
        "{properties: {$ref: {type: string}}}",
    ];
    for schema in good {
        assert_eq!(found(&flow("openai", schema), &CheckOptions::default()), [], "{schema}");
    }
    let bad = [
        "text",
        "[1]",
        "{type: text}",
        "{required: a}",
        "{properties: {n: {minimum: 1, exclusiveMinimum: true}}}",
        "{pattern: '['}",
        "{$ref: 'https://example.com/a.json'}",
        "{$ref: other.json}",
        "{$ref: '#/definitions/none'}",
    ];
    for schema in bad {
        let found = found(&flow("openai", schema), &CheckOptions::default());
        assert_eq!(found, [("bad-schema", Severity::Error)], "{schema}");
    }
}
