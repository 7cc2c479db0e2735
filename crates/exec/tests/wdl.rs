//! The WDL and PDL front end: laws over any text, and the extensions beyond the reference.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use proptest::prelude::*;
use stave_canon::Value;
use stave_diag::SourceId;
use stave_exec::wdl::{self, Dialect, LoweringOptions, PairedPolicy, tree};
use stave_exec::{Acceptance, Document};

const WORKFLOW: &str = "\
version: dsl/v0
workflow: my flow timeout_ms=600000
inputs:
  mode: string
steps:
  - read(http.get) timeout_ms=500 retry=3 backoff_ms=100:
      url: $input.mode
  - when $input.mode in ['auto', \"full\"]:
      - write(http.post) retry=1:
          url: $step.read.url
  - when_0(log.info):
outputs:
  reading: $step.read
";

fn compile(text: &str, dialect: Dialect) -> Result<Document, Vec<String>> {
    let checked = wdl::check_workflow(SourceId(0), text, dialect);
    let errors =
        |found: &[stave_diag::Diagnostic]| found.iter().map(|one| one.code.0.to_owned()).collect::<Vec<_>>();
    let Some(workflow) = checked.value.filter(|_| checked.diagnostics.is_empty()) else {
        return Err(errors(&checked.diagnostics));
    };
    let settings =
        LoweringOptions { policy: None, generated_at: "2024-06-30T18:25:43Z", source_file: "a.wdl", dialect };
    let (document, found) = wdl::lower(&workflow, &settings);
    let document = document.ok_or_else(|| errors(&found))?;
    stave_exec::read(&stave_exec::to_value(&document), Acceptance::Exact).expect("what is lowered is valid");
    Ok(document)
}

#[test]
fn timeouts_retries_names_and_flows_without_a_policy_are_extensions() {
    let document = compile(WORKFLOW, Dialect::Extended).expect("it compiles");
    assert_eq!(document.flow.name, "my-flow");
    assert_eq!(document.flow.timeout_ms, 600_000);
    assert_eq!(document.constants.policy_ref, wdl::NO_POLICY);
    let read = document.node("read").expect("there is one");
    assert_eq!((read.timeout_ms, read.retry.max, read.retry.backoff_ms), (500, 3, 100));
    assert_eq!(
        read.extra.get("origin").map(ToString::to_string).as_deref(),
        Some(r#"{"line":6,"column":5}"#)
    );
    // A made-up id keeps out of the way of every step, also of later ones.
    assert_eq!(document.node("when_1").map(|node| node.kind.as_str()), Some("switch"));
    assert_eq!(compile(WORKFLOW, Dialect::Reference), Err(vec!["wdl-parse-error".to_owned(); 2]));
}

#[test]
fn a_policy_step_without_a_policy_is_refused() {
    let text = "version: 1\nworkflow: a\nsteps:\n  - decide(policy.apply):\n";
    assert_eq!(compile(text, Dialect::Extended), Err(vec!["wdl-missing-policy".to_owned()]));
}

fn with_steps(steps: &str) -> String {
    format!("version: 1\nworkflow: a\ninputs:\n  items: list\nsteps:\n{steps}")
}

#[test]
fn a_step_that_waits_for_itself_is_reported_at_its_call_with_the_path() {
    let each = "  - all(transform.each):\n      input: $input.items\n      node: ";
    let late = with_steps(&format!(
        "{each}'last'\n  - mid(log.info):\n      message: x\n  - last(log.info):\n      message: x\n"
    ));
    let itself = with_steps(&format!("  - first(log.info):\n      message: x\n{each}all\n"));
    let model = with_steps(
        "  - ask(llm.chat):\n      tools: [{'name': 'look', 'maps_to': 'look'}]\n  - when $input.items == 'one':\n      - look(log.info):\n          message: x\n",
    );
    let cases = [
        (late, 8, "the steps wait for one another in a cycle: `all` → `last` → `mid` → `all`"),
        (itself, 10, "step `all` calls itself"),
        (model, 7, "the steps wait for one another in a cycle: `ask` → `look` → `when_0` → `ask`"),
    ];
    for (text, line, message) in cases {
        let checked = wdl::check_workflow(SourceId(0), &text, Dialect::Extended);
        assert_eq!(checked.diagnostics, [], "{text}");
        let workflow = checked.value.expect("it reads");
        let settings = LoweringOptions {
            policy: None,
            generated_at: "2024-06-30T18:25:43Z",
            source_file: "a.wdl",
            dialect: Dialect::Extended,
        };
        let (document, found) = wdl::lower(&workflow, &settings);
        assert_eq!(document, None, "{text}");
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.code.0, wdl::line_number(&text, one.primary.range().start), one.message.as_str()))
            .collect();
        assert_eq!(found, [("wdl-step-cycle", line, message)], "{text}");
    }
}

#[test]
fn a_step_may_call_a_step_before_it() {
    let text = with_steps(
        "  - look(log.info):\n      message: x\n  - all(transform.each):\n      input: $input.items\n      node: look\n",
    );
    let document = compile(&text, Dialect::Extended).expect("it compiles");
    assert!(document.node("all").is_some());
}

#[test]
fn a_kind_that_no_runtime_has_is_reported_at_the_kind_unless_it_is_listed() {
    let text = with_steps(
        "  - a(dsl.emit):\n  - when $input.items == 'x':\n      - b( nope.kind ) retry=1:\n  - c(htp.get):\n",
    );
    let workflow = wdl::check_workflow(SourceId(0), &text, Dialect::Extended).value.expect("it reads");
    let found = |others: &[String]| -> Vec<(&'static str, String)> {
        let found = wdl::unknown_step_kinds(&workflow, others);
        let at = |one: &stave_diag::Diagnostic| text.get(one.primary.range()).unwrap_or_default().to_owned();
        found.iter().map(|one| (one.code.0, at(one))).collect()
    };
    let (nope, misspelt) =
        (("unknown-step-kind", "nope.kind".to_owned()), ("unknown-step-kind", "htp.get".to_owned()));
    assert_eq!(found(&[]), [nope, misspelt.clone()]);
    assert_eq!(found(&["nope.kind".to_owned()]), [misspelt]);
    let helps = wdl::unknown_step_kinds(&workflow, &[]).into_iter().filter_map(|one| one.help);
    assert!(helps.collect::<Vec<_>>().last().is_some_and(|help| help.contains("`http.get`")));
}

#[test]
fn several_mistakes_are_reported_at_once() {
    let text = "\
workflow: a
inputs:
  x:
    - 1
steps:
  - one
  - two(http.get) retry=many:
";
    let found = wdl::check_workflow(SourceId(0), text, Dialect::Extended).diagnostics;
    let lines: Vec<u32> = found.iter().map(|one| wdl::line_number(text, one.primary.range().start)).collect();
    assert_eq!(lines, [1, 4, 6, 7], "{found:#?}");
}

#[test]
fn the_layout_is_canonical_and_keeps_meaning_and_comments() {
    let text = "# top\nversion: dsl/v0\n\n\nworkflow:   a\nsteps:\n        # what is read\n        - read(http.get):\n                 url:   x  \n                 items:\n                    - 1\n                    - 2\n";
    let laid_out = wdl::format(SourceId(0), text).expect("it reads");
    assert_eq!(
        laid_out,
        "# top\nversion: dsl/v0\n\nworkflow:   a\nsteps:\n  # what is read\n  - read(http.get):\n      url:   x  \n      items:\n        - 1\n        - 2\n"
    );
    assert_eq!(wdl::format(SourceId(0), &laid_out).expect("it reads"), laid_out);
}

#[test]
fn a_policy_decides_from_the_baked_data_alone() {
    let policy = "version: pdl/v0\narms:\n  low:\n    limit: 5\n  default:\n    limit: 75\nevaluate:\n  t = first_numeric(values)\n  if t >= arms.active.limit:\n    action = \"cool\"\n  else:\n    action = \"none\"\nemit:\n  action: action\n  at: t\n";
    let checked = wdl::check_policy(SourceId(0), policy, Dialect::Extended);
    assert!(checked.diagnostics.is_empty(), "{:?}", checked.diagnostics);
    let baked = wdl::bake(&checked.value.expect("it reads"), "p", "p.pdl");
    let values = stave_canon::parse(r#"{"a": "x", "b": 80}"#).expect("it is JSON");
    let decided = stave_exec::policy::apply(&baked, &values, None, &mut || None).expect("it decides");
    assert_eq!(Value::Object(decided).to_string(), r#"{"action":"cool","at":80.0}"#);
}

#[test]
fn an_expression_can_not_grow_without_end() {
    let mut policy =
        String::from("version: 1\narms:\n  a:\n    x: 1\nevaluate:\n  x = \"aaaaaaaaaaaaaaaa\"\n");
    for _ in 0..60 {
        policy.push_str("  x = [x, x]\n");
    }
    policy.push_str("emit:\n  x: x\n");
    let checked = wdl::check_policy(SourceId(0), &policy, Dialect::Extended);
    let baked = wdl::bake(&checked.value.expect("it reads"), "p", "p.pdl");
    let error =
        stave_exec::policy::apply(&baked, &Value::Null, None, &mut || None).expect_err("it is refused");
    assert!(error.to_string().contains("too large"), "{error}");
}

/// Lines of a document in some order, with some indentation: mostly wrong, often nearly right.
fn documents() -> impl Strategy<Value = String> {
    let lines = [
        "version: dsl/v0",
        "workflow: a",
        "inputs:",
        "x: string",
        "steps:",
        "- a(b):",
        "- b(c) retry=2:",
        "- when $input.x == \"y\":",
        "k: $step.a.b",
        "- 1",
        "outputs:",
        "r: $step.a",
        "arms:",
        "default:",
        "evaluate:",
        "t := first_numeric(values)",
        "if t > 1:",
        "else:",
        "choose:",
        "o: t = 2 with p=0.5",
        "emit:",
        "# note",
        "",
        "triggers:",
        "cron:",
        "schedule: \"* * * * *\"",
        "-",
        ":",
        "\"",
        "a: 'b: c'",
        "\u{e9}: \u{1f600}",
    ];
    prop::collection::vec((0..5usize, prop::sample::select(lines.to_vec())), 0..20).prop_map(|lines| {
        lines.into_iter().map(|(depth, line)| format!("{}{line}\n", "  ".repeat(depth))).collect()
    })
}

fn never_panics(text: &str) -> Result<(), TestCaseError> {
    for dialect in [Dialect::Reference, Dialect::Extended] {
        let policy = wdl::check_policy(SourceId(0), text, dialect);
        if let Some(policy) = &policy.value {
            let baked = wdl::bake(policy, "p", "p.pdl");
            let _ = stave_exec::policy::apply(&baked, &Value::Null, Some(0.5), &mut || Some(0.25));
        }
        let workflow = wdl::check_workflow(SourceId(0), text, dialect);
        for diagnostic in policy.diagnostics.iter().chain(&workflow.diagnostics) {
            let range = diagnostic.primary.range();
            prop_assert!(text.get(range.clone()).is_some(), "{range:?} is not in the text: {diagnostic:?}");
        }
        if let Some(workflow) = &workflow.value {
            let paired =
                policy.value.as_ref().map(|policy| PairedPolicy { policy, name: "p", source_file: "p.pdl" });
            let settings = LoweringOptions {
                policy: paired,
                generated_at: "2024-06-30T18:25:43Z",
                source_file: "a.wdl",
                dialect,
            };
            let (document, _) = wdl::lower(workflow, &settings);
            if let (Some(document), Dialect::Extended, []) =
                (&document, dialect, workflow_errors(text).as_slice())
            {
                let read = stave_exec::read(&stave_exec::to_value(document), Acceptance::Exact);
                prop_assert!(read.is_ok(), "{:?}", read.err());
            }
            let _ = wdl::triggers(workflow, "a");
        }
    }
    if let Ok(laid_out) = wdl::format(SourceId(0), text) {
        let (before, after) = (tree::parse(SourceId(0), text), tree::parse(SourceId(0), &laid_out));
        prop_assert_eq!(meaning(&before.expect("it reads")), meaning(&after.expect("it still reads")));
        prop_assert_eq!(comments(text), comments(&laid_out));
        prop_assert_eq!(wdl::format(SourceId(0), &laid_out).expect("it reads"), laid_out);
    }
    Ok(())
}

/// The comments of a text, in order.
fn comments(text: &str) -> Vec<String> {
    let ends = |letter: char| {
        matches!(
            letter,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    text.split(ends).map(str::trim).filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

fn workflow_errors(text: &str) -> Vec<stave_diag::Diagnostic> {
    let found = wdl::check_workflow(SourceId(0), text, Dialect::Extended).diagnostics;
    found.into_iter().filter(stave_diag::Diagnostic::is_error).collect()
}

/// A tree without its places.
fn meaning(mapping: &tree::Mapping) -> String {
    let entries: Vec<String> = mapping
        .entries
        .iter()
        .map(|entry| format!("{:?}: {}", entry.key, node_meaning(&entry.value)))
        .collect();
    format!("{{{}}}", entries.join(", "))
}

fn node_meaning(node: &tree::WdlNode) -> String {
    match node {
        tree::WdlNode::Scalar(scalar) => format!("{:?}", scalar.text),
        tree::WdlNode::Mapping(mapping) => meaning(mapping),
        tree::WdlNode::List(list) => format!("{:?}", list.items.iter().map(node_meaning).collect::<Vec<_>>()),
    }
}

proptest! {
    #[test]
    fn nearly_right_documents_never_panic(text in documents()) {
        never_panics(&text)?;
    }

    #[test]
    fn any_text_never_panics(text in "\\PC*") {
        never_panics(&text)?;
    }

    #[test]
    fn any_expression_ends(text in "[-a-z0-9 +*/%()\\[\\]{}.,:'\"<>=!]{0,60}") {
        let mut scope = stave_exec::expression::Scope::new();
        let seven = stave_exec::expression::Datum::Plain(7_i64.into());
        scope.insert("x".to_owned(), seven);
        let _ = stave_exec::expression::evaluate(&text, &scope, &mut || Some(0.5));
        let _ = stave_exec::expression::check(&text);
    }
}

#[test]
fn findings_come_in_the_order_of_one_walk() {
    let text = "\
version: 1
workflow: a
outputs:
  z: $input.lost
steps:
  - one(b):
      x: $step.two $input.gone
  - when $step.three.x == \"a\":
  - one(b):
      y: $input.away
";
    let found = wdl::check_workflow(SourceId(0), text, Dialect::Reference).diagnostics;
    let found: Vec<(&str, u32)> =
        found.iter().map(|one| (one.code.0, wdl::line_number(text, one.primary.range().start))).collect();
    assert_eq!(
        found,
        [
            ("wdl-missing-input", 7),
            ("wdl-unknown-step-ref", 7),
            ("wdl-unknown-step-ref", 8),
            ("wdl-empty-branch", 8),
            ("wdl-duplicate-step-id", 9),
            ("wdl-missing-input", 10),
            ("wdl-missing-input", 4),
        ]
    );
}

#[test]
fn a_trigger_may_say_its_type_among_its_settings() {
    let text =
        |triggers: &str| format!("version: 1\nworkflow: a\ntriggers:\n{triggers}steps:\n  - one(b):\n");
    let of = |text: &str| {
        let checked = wdl::check_workflow(SourceId(0), text, Dialect::Extended);
        let codes: Vec<&str> = checked.diagnostics.iter().map(|found| found.code.0).collect();
        assert_eq!(codes, [] as [&str; 0], "{text}");
        Value::Array(wdl::triggers(&checked.value.expect("it reads"), "a")).to_string()
    };
    assert_eq!(
        of(&text("  - \n    type: 'cron'\n    schedule: \"* * * * *\"\n")),
        of(&text("  cron:\n    schedule: \"* * * * *\"\n"))
    );
    assert_eq!(
        of(&text("  - \n    cron:\n      cron: x\n    fs:\n      path: /in\n")),
        of(&text("  cron:\n    cron: x\n  fs:\n    path: /in\n"))
    );
    let scalar = text("  - type: cron\n");
    let found = |dialect| wdl::check_workflow(SourceId(0), &scalar, dialect).diagnostics;
    assert_eq!(found(Dialect::Reference).first().map(|found| found.code.0), Some("wdl-parse-error"));
    assert_eq!(found(Dialect::Extended).first().map(|found| found.code.0), Some("wdl-bad-trigger"));
}

#[test]
fn expressions_have_the_results_of_python() {
    let scope = stave_exec::expression::Scope::new();
    for (text, wanted) in [
        ("2 % 0.1", "0.0999999999999999"),
        ("-7 % 2.5", "0.5"),
        ("7 % -2.5", "-0.5"),
        ("7.5 // 2", "3.0"),
        ("-7.5 // 2", "-4.0"),
        ("2 // 0.1", "19.0"),
        ("-True", "-1"),
        ("~False", "-1"),
        ("[1, 2] * 2", "[1,2,1,2]"),
        ("0 * [1]", "[]"),
        ("round(2.675, 2)", "2.67"),
        ("round(2.5)", "2"),
        ("round(7, True)", "7"),
    ] {
        let value = stave_exec::expression::evaluate(text, &scope, &mut || None).expect("it has a value");
        assert_eq!(value.into_value().to_string(), wanted, "{text}");
    }
    for text in ["[1] * 10000000", "'a' * 1.0", "[1] * []", "1 % 0.0"] {
        assert!(stave_exec::expression::evaluate(text, &scope, &mut || None).is_err(), "{text}");
    }
}
