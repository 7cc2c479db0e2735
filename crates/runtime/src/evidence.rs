//! The form of what is kept about a question to a model: its blocks, what was done to them, and the turns that followed.
//! Model steps write it into the journal, and whoever shows a run reads it.

use stave_block::{BlockContentType, PromptRole, Provenance, Sensitivity};
use stave_canon::Value;
use stave_llm::Usage;
use stave_shape::Shape;

/// A prompt on its way to a model.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub struct AskedPrompt {
    /// The step that asked.
    pub path: String,
    pub provider: String,
    pub model: String,
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
    #[shape(default)]
    pub blocks: Vec<AskedBlock>,
    #[shape(default)]
    pub turns: Vec<ModelTurn>,
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
}

/// What was left out of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct SectionCut {
    pub section: String,
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
    pub role: PromptRole,
    #[shape(rename = "type")]
    pub content_type: BlockContentType,
    pub provenance: Provenance,
    pub sensitivity: Sensitivity,
    #[shape(write_null)]
    pub tokens: Option<u32>,
    pub content: String,
    /// Whether the content is only the beginning of it.
    pub truncated: bool,
    /// Whether the content is not kept.
    pub withheld: bool,
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
