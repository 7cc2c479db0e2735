//! Block to request: blocks become the messages of a neutral model request, or a plan for them becomes
//! splices into the body that they came from.

mod govern;
mod rewrite;
mod sealed;
mod splice;
mod texts;

use stave_block::{BlockIr, PromptRole};
use stave_canon::{Number, Value};
use stave_llm::{FunctionTool, Message, Part, Request, ResponseSchema, Role, Tool};

pub use govern::{
    GatedBody, Governed, JudgedTooLong, PlacedText, gate_body, gate_body_until, govern_body, outside_texts,
    placed_texts, position_texts,
};
pub use rewrite::{RewritePolicy, rewrite_body};
pub use splice::{Splice, Spliced, plan_splices, splice_plan};

/// What a request has beside its messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestShape {
    pub model: String,
    pub temperature: Option<Number>,
    pub max_tokens: Option<u64>,
    pub tools: Vec<FunctionTool>,
    pub response_schema: Option<ResponseSchema>,
    pub metadata: Option<Value>,
    /// How many blocks end with the last reference, where a provider can keep what comes before the end of a part.
    pub references: Option<usize>,
}

/// Lowers blocks to a request: neighbours of one role become one message, their contents joined as they
/// are. References are a part of their own, because they stay the same when the rest of the message changes.
#[must_use]
pub fn block_to_request(prompt: &BlockIr, shape: RequestShape) -> Request {
    let mut messages: Vec<(PromptRole, Vec<String>)> = Vec::new();
    for (index, block) in prompt.blocks.iter().enumerate() {
        match messages.last_mut() {
            Some((role, parts)) if *role == block.role => match parts.last_mut() {
                Some(text) if shape.references != Some(index) => text.push_str(&block.content),
                _ => parts.push(block.content.clone()),
            },
            _ => messages.push((block.role, vec![block.content.clone()])),
        }
    }
    let message = |(role, parts): (PromptRole, Vec<String>)| {
        Message::new(message_role(role), parts.into_iter().map(Part::text).collect())
    };
    let messages = messages.into_iter().map(message).collect();
    let mut request = Request::new(shape.model, messages);
    request.temperature = shape.temperature.map(|number| number.as_f64());
    request.max_tokens = shape.max_tokens;
    request.tools = shape.tools.into_iter().map(Tool::Function).collect();
    request.response_schema = shape.response_schema;
    request
}

fn message_role(role: PromptRole) -> Role {
    match role {
        PromptRole::System => Role::System,
        PromptRole::User => Role::User,
        PromptRole::Assistant => Role::Assistant,
        PromptRole::Tool => Role::Tool,
    }
}

#[cfg(test)]
mod tests {
    use stave_block::{BlockSection, Provenance, Wire, build};
    use stave_canon::{CountingIds, FixedClock, Timestamp};

    use super::*;

    #[test]
    fn references_are_a_part_of_their_own() {
        let sections = [
            (PromptRole::System, "You answer."),
            (PromptRole::User, "A handbook.\n\n"),
            (PromptRole::User, "A second one.\n\n"),
            (PromptRole::User, "When? "),
            (PromptRole::User, "Where?"),
        ];
        let sections =
            sections.map(|(role, text)| BlockSection::text(role, Provenance::Developer, text.to_owned()));
        let wire =
            Wire { tools: None, structured_output_schema: None, source_request: None, tokenizer: None };
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        let blocks = build(sections.to_vec(), &wire, &CountingIds::new(), &clock).unwrap();
        let parts = |references| {
            let request = block_to_request(&blocks, RequestShape { references, ..RequestShape::default() });
            let texts = request.messages.iter().map(|message| message.texts().map(str::to_owned).collect());
            texts.collect::<Vec<Vec<String>>>()
        };
        let (system, all) = ("You answer.", "A handbook.\n\nA second one.\n\nWhen? Where?");
        assert_eq!(parts(None), [vec![system], vec![all]]);
        let apart = vec!["A handbook.\n\nA second one.\n\n", "When? Where?"];
        assert_eq!(parts(Some(3)), [vec![system], apart]);
    }
}
