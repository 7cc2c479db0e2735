//! `stave check` reports beforehand what every run under the project's settings refuses.

use crate::folder::Folder;
use crate::process::stave;

/// A flow of one model step; `budget` belongs to the flow, `fields` to the prompt.
fn flow(budget: &str, fields: &str) -> String {
    format!(
        r#"version: "1.1"
metadata: {{name: asks}}
context: {{requires: [q]}}
{budget}
nodes:
  answer:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      template: "{{{{ q }}}}"
      {fields}
edges:
  - {{from: _input.q, to: answer.q}}
  - {{from: answer.a, to: _output.a}}
"#
    )
}

const HOUSE_MODEL: &str = "model: {provider: openai, name: house-model}";

/// What `stave check` says of the flow in a project with these settings.
async fn checked(settings: &str, flow: &str, exit: i32) -> String {
    let folder = Folder::new();
    folder.write("stave.toml", settings);
    folder.write("flow.yaml", flow);
    let finished = stave(&folder, ["check", "--format", "short", "flow.yaml"]).finish().await.exits(exit);
    finished.stdout
}

#[tokio::test]
async fn a_cost_budget_of_a_model_without_a_price_is_a_warning() {
    let budget = "runtime: {budget: {cost_usd: 0.5}}";
    let said = checked("", &flow(budget, HOUSE_MODEL), 0).await;
    assert!(said.contains("unpriced-model") && said.contains("`house-model`"), "{said}");
    let priced = "[prices.house-model]\ninput = 0.5\noutput = 1.5\n";
    assert_eq!(checked(priced, &flow(budget, HOUSE_MODEL), 0).await, "");
    assert_eq!(checked("", &flow("", HOUSE_MODEL), 0).await, "");
    // The budget of the project and its default model count as those of the flow.
    let settings =
        "[budget]\ncost_usd = 0.5\n[models]\ndefault = {provider = \"openai\", name = \"house-model\"}\n";
    let said = checked(settings, &flow("", ""), 0).await;
    assert!(said.contains("unpriced-model"), "{said}");
}

#[tokio::test]
async fn what_governance_always_denies_is_an_error() {
    for fields in [
        format!("{HOUSE_MODEL}\n      constraints: [\"bypass the review\"]"),
        format!("{HOUSE_MODEL}\n      context_refs: [\"file:/etc/passwd\"]"),
    ] {
        let said = checked("", &flow("", &fields), 2).await;
        assert!(said.contains("prompt-denied"), "{fields}: {said}");
    }
    let policy = "[governance]\npolicies = [{name = \"ours\", type = \"model\", forbidden_models = [\"openai/house-*\"], action = \"deny\"}]\n";
    let said = checked(policy, &flow("", HOUSE_MODEL), 2).await;
    assert!(said.contains("prompt-denied") && said.contains("ours"), "{said}");
    // A text that only the run knows is judged by the run.
    let fields = format!("{HOUSE_MODEL}\n      constraints: [\"answer ${{q}}\"]");
    assert_eq!(checked("", &flow("", &fields), 0).await, "");
}
