//! How contents are kept once for all prompts of a step.
//!
//! A list of items asks with the same instructions, tools and schema again and again, and a fallback asks all of it a second
//! time. The journal has each content once; the blocks after it have its hash.
//!
//! Invariant: what is read back is what was written. A content whose first place cannot be read is empty and marked as
//! truncated.

use std::collections::{HashMap, HashSet};

use stave_canon::Value;

use super::{AskedBlock, AskedPrompt, ModelTurn};

/// A content that is no longer than this costs no more than the mark that stands for it.
const SHORT: usize = 96;

/// What a block and a turn have in the journal beside their texts, about.
const BLOCK_BYTES: usize = 320;
const TURN_BYTES: usize = 240;
const PROMPT_BYTES: usize = 480;

/// The prompts of a step as the journal has them.
pub(crate) fn write_questions(prompts: &[AskedPrompt]) -> Vec<Value> {
    let mut seen = HashSet::new();
    let written = prompts.iter().map(|prompt| {
        let mut prompt = prompt.clone();
        for block in blocks_mut(&mut prompt) {
            if is_long(block)
                && let Some(hash) = &block.content_hash
                && !seen.insert(hash.clone())
            {
                block.content.clear();
                block.repeated = true;
            }
        }
        prompt.to_value()
    });
    written.collect()
}

/// The prompts of a step from the journal, each block with its content.
pub(crate) fn read_questions<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<AskedPrompt> {
    let mut prompts: Vec<AskedPrompt> = values.into_iter().filter_map(AskedPrompt::from_value).collect();
    let mut contents: HashMap<String, String> = HashMap::new();
    for block in prompts.iter_mut().flat_map(blocks_mut) {
        let Some(hash) = &block.content_hash else { continue };
        if std::mem::take(&mut block.repeated) {
            match contents.get(hash) {
                Some(content) => block.content.clone_from(content),
                None => block.truncated = true,
            }
        } else if is_long(block) {
            contents.entry(hash.clone()).or_insert_with(|| block.content.clone());
        }
    }
    prompts
}

fn is_long(block: &AskedBlock) -> bool {
    block.content.len() > SHORT
}

fn blocks_mut(prompt: &mut AskedPrompt) -> impl Iterator<Item = &mut AskedBlock> {
    let later = prompt.later_requests.iter_mut().flat_map(|request| &mut request.blocks);
    prompt.blocks.iter_mut().chain(later)
}

/// How many bytes prompts have in the journal, about.
#[derive(Debug, Default)]
pub(crate) struct KeptBytes<'p> {
    seen: HashSet<&'p str>,
    bytes: usize,
}

impl<'p> KeptBytes<'p> {
    pub(crate) fn of(prompts: &'p [AskedPrompt]) -> Self {
        let mut kept = KeptBytes::default();
        prompts.iter().for_each(|prompt| kept.add(prompt));
        kept
    }

    pub(crate) fn add(&mut self, prompt: &'p AskedPrompt) {
        let later = prompt.later_requests.iter();
        self.add_blocks(&prompt.blocks);
        later.for_each(|request| self.add_blocks(&request.blocks));
        let texts = prompt.verdict.violations.iter().map(|hit| hit.text.len() + TURN_BYTES);
        let changes = prompt.transformations.iter().map(|change| change.detail.len() + TURN_BYTES);
        let notes = prompt.cuts.len().saturating_add(prompt.gate.len()).saturating_mul(TURN_BYTES);
        let turns = prompt.turns.iter().map(turn_bytes);
        let sum = texts.chain(changes).chain(turns).fold(notes + PROMPT_BYTES, usize::saturating_add);
        self.bytes = self.bytes.saturating_add(sum);
    }

    pub(crate) fn add_blocks(&mut self, blocks: &'p [AskedBlock]) {
        for block in blocks {
            let is_repeated = is_long(block)
                && block.content_hash.as_ref().is_some_and(|hash| !self.seen.insert(hash.as_str()));
            let content = if is_repeated { 0 } else { block.content.len() };
            self.bytes = self.bytes.saturating_add(BLOCK_BYTES).saturating_add(content);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn turn_bytes(turn: &ModelTurn) -> usize {
    let calls = turn.tool_calls.iter().map(|call| call.name.len() + call.arguments.len());
    let results = turn.tool_results.iter().map(|result| result.name.len() + result.text.len());
    let text = turn.text.as_ref().map_or(0, String::len);
    calls.chain(results).fold(text.saturating_add(TURN_BYTES), usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(contents: &[&str]) -> AskedPrompt {
        let blocks = contents.iter().map(|content| {
            let hash = stave_canon::prefixed_sha256(content);
            format!(
                r#"{{"name":null,"span_id":"s","role":"user","type":"text","provenance":"user","sensitivity":"public","tokens":1,"content_hash":"{hash}","content":"{content}","truncated":false,"withheld":false}}"#
            )
        });
        let blocks: Vec<String> = blocks.collect();
        let text = format!(
            r#"{{"path":"a","provider":"openai","model":"m","tokens":null,"budget":null,"verdict":{{"approved":true,"stage":null}},"blocks":[{}]}}"#,
            blocks.join(",")
        );
        AskedPrompt::from_value(&stave_canon::parse(&text).unwrap()).unwrap()
    }

    #[test]
    fn a_content_that_several_prompts_have_is_written_once() {
        let long = "All of the rules. ".repeat(40);
        let prompts = [prompt(&[&long, "one"]), prompt(&[&long, "two"]), prompt(&[&long, &long])];
        let written = write_questions(&prompts);
        let text = Value::Array(written.clone()).to_string();
        assert_eq!(text.matches(&long).count(), 1, "{text}");
        assert_eq!(read_questions(&written), prompts);
        assert!(KeptBytes::of(&prompts).bytes() < 2 * long.len() + 6 * BLOCK_BYTES + 3 * PROMPT_BYTES);
    }

    #[test]
    fn a_content_whose_first_place_is_lost_is_marked() {
        let long = "All of the rules. ".repeat(40);
        let written = write_questions(&[prompt(&[&long]), prompt(&[&long])]);
        let read = read_questions(&written[1..]);
        assert!(read[0].blocks[0].truncated && read[0].blocks[0].content.is_empty());
    }
}
