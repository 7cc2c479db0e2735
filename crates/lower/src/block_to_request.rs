//! Block to request: blocks become the messages of a neutral model request, or a plan for them becomes
//! splices into the body that they came from.

mod govern;
mod rewrite;
mod sealed;
mod splice;
mod texts;

use stave_block::{BlockIr, PromptRole};
use stave_canon::{Number, Value};
use stave_llm::{FunctionTool, Message, Request, ResponseSchema, Role, Tool};

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
}

/// Lowers blocks to a request: neighbours of one role become one message, their contents joined as they
/// are.
#[must_use]
pub fn block_to_request(prompt: &BlockIr, shape: RequestShape) -> Request {
    let mut messages: Vec<(PromptRole, String)> = Vec::new();
    for block in &prompt.blocks {
        match messages.last_mut() {
            Some((role, text)) if *role == block.role => text.push_str(&block.content),
            _ => messages.push((block.role, block.content.clone())),
        }
    }
    let messages = messages.into_iter().map(|(role, text)| Message::text(message_role(role), text)).collect();
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
