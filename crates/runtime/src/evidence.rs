//! The form of what is kept about a question to a model: its blocks, what was done to them, and the turns that followed.
//! Model steps write it into the journal, and the views of a run read it.
//!
//! A prompt that a model is asked may take several wire requests: one for each round of tools, and one for the repair. Each
//! begins with blocks of the request before it, so a later request keeps only the blocks that it adds.

mod contents;
mod requests;

use stave_block::{BlockContentType, PromptRole, Provenance, Sensitivity, ToolSchemaHash};
use stave_canon::Value;
use stave_llm::Usage;
use stave_prompt::governance::{PolicyAction, Violation};
use stave_shape::Shape;

pub(crate) use contents::{KeptBytes, read_questions, write_questions};
pub use requests::{AskedRequest, asked_requests};

/// A prompt on its way to a model.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub struct AskedPrompt {
    /// The step that asked.
    pub path: String,
    pub provider: String,
    pub model: String,
    /// When the prompt was ready for the gate; absent in records of earlier versions.
    pub asked_at: Option<String>,
    /// The Prompt IR that was asked; absent when it could not be built.
    pub prompt_ir: Option<AskedIr>,
    /// The tokens of the prompt, where they are known.
    #[shape(write_null)]
    pub tokens: Option<u64>,
    /// The most tokens that it may have.
    #[shape(write_null)]
    pub budget: Option<u64>,
    pub verdict: PromptVerdict,
    #[shape(default)]
    pub transformations: Vec<PromptChange>,
    #[shape(default)]
    pub cuts: Vec<SectionCut>,
    /// What the sensitivity gate did.
    #[shape(default)]
    pub gate: Vec<GateEntry>,
    /// The blocks of the first wire request. Of a prompt that was refused, those that the gate left; in records of earlier
    /// versions, the sections of the prompt alone.
    #[shape(default)]
    pub blocks: Vec<AskedBlock>,
    /// What the block document says beside its blocks; absent in records of earlier versions.
    pub block_ir: Option<AskedBlockIr>,
    /// The wire requests after the first, in order.
    #[shape(default, omit_default)]
    pub later_requests: Vec<LaterRequest>,
    /// How many wire requests were sent and are not kept, because there were too many or too much of them.
    #[shape(default, omit_default)]
    pub unkept_requests: u64,
    /// What the model replied, one turn for each wire request.
    #[shape(default)]
    pub turns: Vec<ModelTurn>,
}

/// A wire request that continues the one before it: a round of tools, or the repair.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct LaterRequest {
    pub asked_at: String,
    /// The id of its block document.
    pub ir_id: String,
    /// How many blocks it begins with that the request before it begins with, too.
    pub shared_blocks: u64,
    /// The blocks that follow.
    #[shape(default)]
    pub blocks: Vec<AskedBlock>,
}

/// Which Prompt IR was asked. The hashes cover the whole prompt; those of records carry their first digits.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct AskedIr {
    /// The prompt as the step built it.
    pub built_id: String,
    pub built_hash: String,
    /// The prompt after the plugins, which is the one that was asked. A refused prompt is the one that was built.
    pub ir_id: String,
    pub hash: String,
}

/// The members of a block document beside its blocks.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct AskedBlockIr {
    pub ir_id: String,
    pub created_at: String,
    pub tool_schema_hashes: Option<Vec<ToolSchemaHash>>,
    pub structured_output_schema_id: Option<String>,
    /// The hash of the Prompt IR that the blocks were made from.
    pub source_request_hash: Option<String>,
}

/// What the policies said.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct PromptVerdict {
    pub approved: bool,
    /// Where it was refused.
    #[shape(write_null)]
    pub stage: Option<String>,
    #[shape(default)]
    pub violations: Vec<PolicyHit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct PolicyHit {
    pub policy: String,
    /// The field of the prompt that it was found in, such as `intent` or `content`.
    pub field: Option<String>,
    pub text: String,
    pub denies: bool,
}

/// What a plugin did, or that it failed.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct PromptChange {
    pub plugin: String,
    pub what: String,
    pub detail: String,
    /// The hash of the prompt before the plugin and after it; absent when the plugin failed.
    pub before_hash: Option<String>,
    pub after_hash: Option<String>,
    /// When the plugin was done.
    pub at: Option<String>,
}

/// What was left out of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct SectionCut {
    pub section: String,
    /// Its kind, such as `context` or `input`.
    pub kind: Option<String>,
    pub reason: String,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct GateEntry {
    /// The block's number.
    pub block: u64,
    pub label: Sensitivity,
    pub rule: String,
    pub action: String,
}

/// A block of a prompt, as the gate left it.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct AskedBlock {
    /// The section that it was made from.
    #[shape(write_null)]
    pub name: Option<String>,
    /// The stable name of the block; absent in records of earlier versions.
    pub span_id: Option<String>,
    pub role: PromptRole,
    #[shape(rename = "type")]
    pub content_type: BlockContentType,
    pub provenance: Provenance,
    pub sensitivity: Sensitivity,
    #[shape(write_null)]
    pub tokens: Option<u32>,
    /// The SHA-256 of the whole content without secrets; absent when the content is withheld.
    pub content_hash: Option<String>,
    pub content: String,
    /// Whether the content is only the beginning of it.
    pub truncated: bool,
    /// Whether the content is not kept.
    pub withheld: bool,
    /// In the journal: the content is that of an earlier block of the step with the same hash.
    #[shape(default, omit_default)]
    pub repeated: bool,
}

/// What a model said, and what tools answered.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct ModelTurn {
    #[shape(write_null)]
    pub text: Option<String>,
    #[shape(default)]
    pub tool_calls: Vec<CalledTool>,
    #[shape(default)]
    pub tool_results: Vec<ToolAnswer>,
    #[shape(write_null)]
    pub usage: Option<TurnUsage>,
    /// Why the model stopped.
    #[shape(write_null)]
    pub stop: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct CalledTool {
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct ToolAnswer {
    pub name: String,
    pub text: String,
    pub is_error: bool,
}

/// The tokens of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Shape)]
#[shape(open)]
pub struct TurnUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
    pub reasoning: u64,
}

impl AskedPrompt {
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }

    /// Reads what can be read. It is kept for people only, so that a part which a later version wrote in another way is
    /// left out instead of refused.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<AskedPrompt> {
        stave_shape::read_leniently(value).0
    }
}

impl From<&Violation> for PolicyHit {
    fn from(violation: &Violation) -> Self {
        PolicyHit {
            policy: violation.policy.to_string(),
            field: Some(violation.field.word().to_owned()),
            text: violation.to_string(),
            denies: violation.action == PolicyAction::Deny,
        }
    }
}

impl AskedBlock {
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }
}

impl ModelTurn {
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.write()
    }
}

impl From<&Usage> for TurnUsage {
    fn from(usage: &Usage) -> Self {
        TurnUsage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cache_write_1h: usage.cache_write_1h,
            reasoning: usage.reasoning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as journals have it.
    const RECORD: &str = r#"{"path":"ask","provider":"openai","model":"m","tokens":7,"budget":null,"verdict":{"approved":false,"stage":"gate","violations":[{"policy":"p","text":"t","denies":true}]},"transformations":[{"plugin":"p","what":"w","detail":"d"}],"cuts":[{"section":"s","reason":"r","tokens":3}],"gate":[{"block":0,"label":"restricted","rule":"r","action":"refuse"}],"blocks":[{"name":null,"role":"user","type":"text","provenance":"user","sensitivity":"public","tokens":4,"content":"c","truncated":false,"withheld":false}],"turns":[{"text":null,"tool_calls":[{"name":"n","arguments":"{}"}],"tool_results":[{"name":"n","text":"t","is_error":false}],"usage":{"input":1,"output":2,"cache_read":3,"cache_write":4,"cache_write_1h":5,"reasoning":6},"stop":"end"}]}"#;

    #[test]
    fn a_record_reads_back_as_it_was_written() {
        let prompt = AskedPrompt::from_value(&stave_canon::parse(RECORD).unwrap()).unwrap();
        assert_eq!(prompt.to_value().to_string(), RECORD);
    }

    #[test]
    fn a_part_of_another_form_is_left_out() {
        let record = RECORD.replace(r#""role":"user""#, r#""role":"narrator""#);
        let prompt = AskedPrompt::from_value(&stave_canon::parse(&record).unwrap()).unwrap();
        assert!(prompt.blocks.is_empty() && prompt.turns.len() == 1);
    }
}
