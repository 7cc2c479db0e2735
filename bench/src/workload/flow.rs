//! A flow of two hundred nodes, or more: ten stages of a support desk, each with ports, schemas, prompts, code,
//! operations, conditions, state and comments.

use super::random::Random;

/// Each stage has twenty nodes.
pub(crate) const STAGES: usize = 10;
const NODES_OF_A_STAGE: &str = include_str!("stage.yaml");
const EDGES_OF_A_STAGE: &str = include_str!("stage_edges.yaml");

const HEAD: &str = "\
version: \"1.0\"

metadata:
  name: support_desk
  description: Ten stages of a support desk, one after the other
  tags: [benchmark, support]

context:
  requires: [user_id, session_id, query, tier, opening]

nodes:";

/// The text of a flow with so many stages.
pub(crate) fn text(stages: usize) -> String {
    let mut random = Random::new(200);
    let mut text = HEAD.to_owned();
    for number in 1..=stages {
        fill(NODES_OF_A_STAGE, number, &mut random, &mut text);
    }
    text.push_str("\nedges:");
    for number in 1..=stages {
        fill(EDGES_OF_A_STAGE, number, &mut random, &mut text);
    }
    text.push_str(&format!("\n  - from: {}_summary.summary\n    to: _output\n", stage(stages)));
    text
}

fn stage(number: usize) -> String {
    format!("stage_{number:02}")
}

/// Copies `template` and puts something in the place of each `@name@`.
fn fill(template: &str, number: usize, random: &mut Random, text: &mut String) {
    for (index, part) in template.split('@').enumerate() {
        if index % 2 == 0 {
            text.push_str(part);
            continue;
        }
        match part {
            "number" => text.push_str(&number.to_string()),
            "stage" => text.push_str(&stage(number)),
            "before" if number == 1 => text.push_str("_input.opening"),
            "before" => text.push_str(&format!("{}_summary.summary", stage(number - 1))),
            "digit" => text.push_str(&(1 + random.below(9)).to_string()),
            "thousands" => text.push_str(&(1000 * (1 + random.below(9))).to_string()),
            "word" => text.push_str(random.word()),
            "sentence" => text.push_str(&random.sentence()),
            other => unreachable!("the template asks for `{other}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use stave_diag::SourceId;
    use stave_flow::CheckOptions;

    use super::*;

    #[test]
    fn the_flow_is_large_and_sound() {
        let text = text(STAGES);
        assert!((90_000..160_000).contains(&text.len()), "{} bytes", text.len());
        let parsed = stave_flow::load(SourceId(0), &text, &CheckOptions::default());
        let found: Vec<String> = parsed
            .diagnostics
            .iter()
            .map(|diagnostic| format!("{}: {}", diagnostic.code, diagnostic.message))
            .collect();
        assert_eq!(found, [""; 0]);
        assert_eq!(parsed.flow.map(|flow| flow.nodes.len()), Some(200));
    }

    #[test]
    fn the_text_is_the_same_every_time() {
        assert_eq!(text(STAGES), text(STAGES));
    }

    #[test]
    fn a_flow_of_five_thousand_nodes_is_within_the_bounds() {
        let parsed = stave_flow::parse(SourceId(0), &text(250));
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics.first());
        assert_eq!(parsed.flow.map(|flow| flow.nodes.len()), Some(5000));
    }
}
