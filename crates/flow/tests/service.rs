//! The editor's questions, asked at places that are marked in the text.

#![expect(clippy::panic, reason = "a test helper fails by panicking")]

use proptest::prelude::*;
use stave_flow::CheckOptions;
use stave_flow::service::{
    Analysis, completions, definitions, hover, references, renamable_at, rename_at, symbols,
};

const EXAMPLE: &str = include_str!("../../../tests/program/data/complete_example.yaml");

fn analysis(text: &str) -> Analysis {
    Analysis::new(text.to_owned(), &CheckOptions::default())
}

/// The offset right behind the first occurrence of a part.
fn behind(text: &str, part: &str) -> usize {
    text.find(part).unwrap_or_else(|| panic!("{part:?} is not in the text")) + part.len()
}

#[test]
fn a_name_leads_to_where_it_is_declared() {
    let analysis = analysis(EXAMPLE);
    let table = [
        ("to: fetch_cust", "fetch_customer", "  fetch_customer:"),
        ("to: fetch_customer.user", "user_id", "- name: user_id"),
        ("from: _input.que", "query", "requires: [user_id, session_id, query"),
        (
            "- Age: {{ custo",
            "customer_data",
            "- name: query\n        type: string\n      - name: customer_data",
        ),
        (
            "'content': inputs['que",
            "query",
            "  update_conversation:\n    type: transform\n    inputs:\n      - name: query",
        ),
        ("key: \"${user", "user_id", "- name: user_id"),
        ("{context.sess", "session_id", "requires: [user_id, session_id"),
        ("return {'succ", "success", "outputs:\n      - name: success"),
    ];
    for (place, name, declaration) in table {
        let found = definitions(&analysis, behind(EXAMPLE, place));
        let end = behind(EXAMPLE, declaration);
        let end = end - usize::from(declaration.ends_with(':'));
        let ranges: Vec<_> = found.iter().map(|span| (span.range().start, span.range().end)).collect();
        assert_eq!(ranges, [(end - name.len(), end)], "{place}");
    }
    assert!(definitions(&analysis, behind(EXAMPLE, "Customer Dat")).is_empty());
}

#[test]
fn hovering_tells_types_origins_and_operations() {
    let analysis = analysis(EXAMPLE);
    let said = |place: &str| hover(&analysis, behind(EXAMPLE, place)).map(|hover| hover.markdown).unwrap();
    let all = [
        "- Age: {{ custo",
        "from: fetch_customer.custo",
        "op: hopsworks.read",
        "from: _input.que",
        "  generate_resp",
        "    time",
    ]
    .map(said);
    insta::assert_snapshot!(all.join("\n----\n"));
}

#[test]
fn completion_knows_what_may_stand_at_a_place() {
    // Each line is put in place of a line of the example; the cursor is at its end.
    let table = [
        ("        op: hopsworks.read_features", "        op: hop", "http.get"),
        ("  - from: fetch_customer.customer_data", "  - from: fe", "fetch_customer.customer_data"),
        ("    to: format_response.success", "    to: ", "generate_response.query"),
        ("    to: format_response.success", "    to: ", "_output"),
        ("        type: boolean", "        type: ", "embedding"),
        ("      scope: session", "      scope: ", "request"),
        ("      retries: 2", "      ret", "retry_backoff_ms"),
        ("          key: \"${user_id}\"", "          ", "feature_view"),
        ("          key: \"${user_id}\"", "          key: \"${", "user_id"),
        ("          as_of: \"${context.event_time}\"", "          as_of: \"${context.", "event_time"),
        ("        Customer Query: {{ query }}", "        Customer Query: {{ ", "history"),
        ("        Customer Query: {{ query }}", "        Customer Query: {{ context.", "session_id"),
        ("                'content': inputs['query'],", "                'content': inputs['", "response"),
        ("            await state.set('history', history)", "            await state.", "delete"),
        ("  tags: [production, customer-facing]", "  au", "author"),
        ("deployment:", "dep", "deployment"),
        ("  target: kserve", "  target: ", "lambda"),
    ];
    for (line, typed, wanted) in table {
        let text = EXAMPLE.replacen(line, typed, 1);
        assert_ne!(text, EXAMPLE, "{line}");
        let offset = EXAMPLE.find(line).unwrap() + typed.len();
        let found = completions(&text, offset);
        let labels: Vec<&str> = found.iter().map(|item| item.label.as_str()).collect();
        assert!(labels.contains(&wanted), "{typed:?} offers {labels:?}, not {wanted}");
        for item in &found {
            assert_eq!(item.end, offset);
            assert!(text.get(item.start..item.end).is_some());
        }
    }
}

#[test]
fn a_name_is_changed_wherever_it_stands() {
    let analysis = analysis(EXAMPLE);
    let place = behind(EXAMPLE, "- Age: {{ custo");
    let edits = rename_at(&analysis, place, "customer", &CheckOptions::default()).unwrap();
    assert_eq!(edits.len(), 5);
    assert_eq!(references(&analysis, place, true).len(), 5);
    assert_eq!(references(&analysis, place, false).len(), 4);
    let text = stave_diag::apply(EXAMPLE, &edits).unwrap();
    assert!(text.contains("{{ customer.age }}") && text.contains("to: generate_response.customer\n"));
    assert!(rename_at(&analysis, place, "Not a name", &CheckOptions::default()).is_err());
    assert!(
        rename_at(&analysis, place, "query", &CheckOptions::default()).is_err(),
        "the node has such an input"
    );
    assert!(
        renamable_at(&analysis, behind(EXAMPLE, "as_of: \"${context.event")).is_none(),
        "not declared here"
    );
}

#[test]
fn the_outline_has_nodes_with_their_ports() {
    let flow = analysis(EXAMPLE).flow.unwrap();
    let lines: Vec<String> = symbols(&flow)
        .iter()
        .map(|symbol| {
            let children: Vec<&str> = symbol.children.iter().map(|child| child.name.as_str()).collect();
            format!("{:?} {} ({}) [{}]", symbol.kind, symbol.name, symbol.detail, children.join(", "))
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Asks everything at a place of a text.
fn ask_everything(text: &str, offset: usize) {
    let analysis = analysis(text);
    let _ = hover(&analysis, offset);
    let _ = definitions(&analysis, offset);
    let _ = rename_at(&analysis, offset, "renamed", &CheckOptions::default());
    let _ = completions(text, offset);
    let _ = analysis.flow.as_ref().map(symbols);
    for occurrence in &analysis.occurrences {
        assert_eq!(text.get(occurrence.span.range()), Some(occurrence.symbol.name()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_text_and_no_place_makes_an_answer_fail(text in "\\PC{0,80}|[a-z:\\- {}\\[\\]\"'|#&*\n]{0,80}", offset in 0_usize..120) {
        ask_everything(&text, offset);
    }

    #[test]
    fn no_broken_flow_makes_an_answer_fail(at in 0_usize..6000, removed in 0_usize..40, inserted in "[a-z:\\- {}'\"é\n]{0,6}", offset in 0_usize..6000) {
        let mut text = EXAMPLE.to_owned();
        let floor = |offset: usize| {
            let mut offset = offset.min(EXAMPLE.len());
            while !EXAMPLE.is_char_boundary(offset) { offset -= 1; }
            offset
        };
        let (start, end) = (floor(at), floor(at + removed));
        text.replace_range(start..end, &inserted);
        ask_everything(&text, offset);
    }
}

const PROPERTIES: &str = r#"version: "1.0"
metadata:
  name: properties
context:
  requires: [id]
  sensitivity: {id: private}
nodes:
  fetch:
    type: transform
    inputs:
      - name: id
        type: string
    outputs:
      - name: row
        type: object
        schema:
          type: object
          properties:
            name: {type: string, description: How a person is called}
            age: {type: number}
          required: [name]
    transform:
      mode: declarative
      spec:
        op: http.get
        args: {url: "https://people.example.com/${id}/${context.region}"}
  greet:
    type: transform
    inputs:
      - name: person
        type: object
    outputs:
      - name: text
        type: string
    prompt:
      template: "Hello {{ person.name }}"
edges:
  - {from: _input.id, to: fetch.id}
  - {from: fetch.row, to: greet.person, condition: "value['name'] != ''"}
  - {from: greet.text, to: _output}
deployment:
  target: local
  context:
    region: {env: REGION}
"#;

/// The text with a name changed where it follows `ahead`.
fn renamed(ahead: &str, to: &str) -> Result<String, String> {
    let analysis = Analysis::new(PROPERTIES.to_owned(), &CheckOptions::default());
    let errors: Vec<&str> = analysis
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.message.as_str())
        .collect();
    assert_eq!(errors, [""; 0]);
    let place = PROPERTIES.find(ahead).map(|at| at + ahead.len()).unwrap_or_default();
    let mut edits = rename_at(&analysis, place, to, &CheckOptions::default())?;
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span));
    let mut text = PROPERTIES.to_owned();
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.replacement);
    }
    Ok(text)
}

#[test]
fn a_property_is_renamed_in_its_schema_and_wherever_a_path_names_it() {
    let expected = PROPERTIES
        .replace("            name: {type", "            called: {type")
        .replace("required: [name]", "required: [called]")
        .replace("person.name", "person.called")
        .replace("value['name']", "value['called']");
    for place in ["properties:\n            ", "person.", "value['", "required: ["] {
        assert_eq!(renamed(place, "called").as_deref(), Ok(expected.as_str()), "{place}");
    }
    assert!(renamed("person.", "not a word").is_err());
    assert!(renamed("person.", "age").is_err(), "the schema has such a property");
}

#[test]
fn a_context_field_is_renamed_in_its_label_and_its_deployment() {
    let expected =
        PROPERTIES.replace("context.region", "context.zone").replace("    region: {", "    zone: {");
    assert_eq!(renamed("context.", "zone").as_deref(), Ok(expected.as_str()));
    let text = renamed("requires: [", "key").expect("a good name");
    assert!(text.contains("sensitivity: {key: private}") && text.contains("_input.key"), "{text}");
}

#[test]
fn a_property_in_a_template_is_explained_with_its_type_and_its_origin() {
    let analysis = Analysis::new(PROPERTIES.to_owned(), &CheckOptions::default());
    let place = PROPERTIES.find("person.name").expect("the path") + "person.n".len();
    let page = hover(&analysis, place).expect("an explanation").markdown;
    for part in ["property `name`: `string`", "`fetch.row`", "How a person is called"] {
        assert!(page.contains(part), "{page}");
    }
}
