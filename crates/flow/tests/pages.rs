//! Every page about a flow shows what it says: its bad example raises its code and no other, and its
//! good example raises nothing.

use stave_diag::page::{Example, ExampleKind, examples};
use stave_diag::{CODES, Severity, Sources, render};
use stave_flow::{CheckOptions, ModelCosts, PromptNames, load};
use stave_script::allow_list::AllowLists;

/// What the command finds, which knows the limits of the project and the windows of models. The program's tests hold its page.
const OF_THE_COMMAND: [&str; 1] = ["excess-token-budget"];

/// What the project of the examples lists.
fn lists() -> AllowLists {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    AllowLists {
        secrets: [("ERP_KEY".to_owned(), texts(&["erp.example.com"]))].into(),
        variables: texts(&["REGION"]),
        model_hosts: texts(&["llm.example.com"]),
        ..AllowLists::default()
    }
}

/// The names that prompts may use without a template file of the project.
fn prompts() -> PromptNames {
    let roles = ["architect", "researcher", "implementer", "reviewer", "integrator", "writer", "default"];
    PromptNames {
        templates: roles.into_iter().map(|role| (role.to_owned(), None)).collect(),
        ..PromptNames::default()
    }
}

/// Prices of the models of the examples.
fn costs() -> ModelCosts {
    ModelCosts {
        is_priced: std::sync::Arc::new(|model| model != "house-model"),
        default_model: None,
        limited: false,
    }
}

/// The codes of an example's errors and warnings, once each; `None` for an example of something else.
fn raised(example: &Example) -> Option<Vec<&'static str>> {
    let strict = match example.kind {
        ExampleKind::Flow => false,
        ExampleKind::StrictFlow => true,
        _ => return None,
    };
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", example.text.as_str());
    let parsed = load(
        source,
        &example.text,
        &CheckOptions {
            strict,
            allow: Some(lists()),
            prompts: Some(prompts()),
            costs: Some(costs()),
            ..CheckOptions::default()
        },
    );
    let found = parsed.diagnostics.iter().filter(|found| found.severity <= Severity::Warning);
    let mut codes: Vec<&str> = found.map(|found| found.code.0).collect();
    codes.sort_unstable();
    codes.dedup();
    Some(codes)
}

#[test]
fn bad_examples_raise_their_code_alone_and_good_ones_nothing() {
    let mut wrong = Vec::new();
    let codes = CODES.iter().copied().flatten();
    for info in codes.filter(|info| !OF_THE_COMMAND.contains(&info.code.0)) {
        let examples = examples(info.page);
        for (expected, example) in examples
            .bad
            .iter()
            .map(|example| (vec![info.code.0], example))
            .chain(examples.good.iter().map(|example| (Vec::new(), example)))
        {
            if let Some(codes) = raised(example)
                && codes != expected
            {
                wrong.push(format!("{}: expected {expected:?}, found {codes:?}", info.code));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_flow_of_the_guide_has_no_findings() {
    let guide = include_str!("../../../docs/flow.md");
    let flow = guide.split("```yaml\n").nth(1).and_then(|rest| rest.split("```\n").next()).unwrap();
    let mut sources = Sources::new();
    let source = sources.add("docs/flow.md", flow);
    let findings = load(source, flow, &CheckOptions::default()).diagnostics;
    assert!(findings.is_empty(), "{}", render::short::render(&findings, &sources));
}
