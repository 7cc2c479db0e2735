//! What is kept of each wire request of a prompt: the first one, those of tool rounds, and the repair.
//!
//! The blocks are read from the body that the provider's codec writes, by the reader of the gateway. The sections of the
//! prompt lay their names, provenance and labels onto them, and tools lay theirs onto their answers.
//!
//! Invariant: contents and order are those of the wire. A section that the wire does not have is not shown, and what no
//! section explains has the strictest label of what comes before it.

use std::collections::{HashMap, VecDeque};
use std::slice::Iter;
use std::sync::{Mutex, PoisonError};

use stave_block::{
    BlockContentType, BlockIr, BlockSection, PromptBlock, PromptRole, Provenance, Sensitivity, SpanIds,
    Surface, ToolSchemaHash,
};
use stave_canon::{CountingIds, Timestamp};
use stave_llm::codec::{Codec, OpenAiChat, codec_of};
use stave_llm::{Provider, Request, tokens};
use stave_lower::request_to_block;

use super::evidence::{Kept, KeptBlock, Way};
use crate::run::Call;

/// The name of the turn that asks a model to repair its answer.
const REPAIR: &str = "repair";
const OUTPUT_SCHEMA: &str = "output_schema";

/// The wire requests of one conversation with a model.
#[derive(Debug)]
pub(super) struct SentRequests {
    kept: Kept,
    sections: Vec<KnownSection>,
    state: Mutex<State>,
}

/// A section of the prompt as the gate left it.
#[derive(Debug)]
struct KnownSection {
    section: BlockSection,
    tokens: Option<u32>,
}

#[derive(Debug, Default)]
struct State {
    sent: usize,
    /// By answer of a tool, in order: its name and label.
    tools: Vec<(String, Sensitivity)>,
    /// By content, its tokens.
    counted: HashMap<String, u32>,
}

/// A block of the wire with what is known about it.
#[derive(Debug)]
struct LaidBlock {
    section: BlockSection,
    /// The number of the section that it is.
    of: Option<usize>,
}

/// A wire request that was read.
#[derive(Debug)]
pub(super) struct ReadRequest {
    pub(super) blocks: Vec<KeptBlock>,
    pub(super) tool_schema_hashes: Option<Vec<ToolSchemaHash>>,
    pub(super) structured_output_schema_id: Option<String>,
    /// By section of the prompt, the number of its block.
    pub(super) section_blocks: HashMap<usize, usize>,
}

impl SentRequests {
    /// The requests of a prompt whose blocks the gate left like this.
    pub(super) fn new(kept: Kept, blocks: &BlockIr, way: &Way) -> SentRequests {
        // Contents are copied for a prompt that is kept only.
        let known = if kept.is_kept() { blocks.blocks.as_slice() } else { &[] };
        let sections =
            known.iter().enumerate().map(|(index, block)| KnownSection::of(block, way.name(index)));
        SentRequests { kept, sections: sections.collect(), state: Mutex::default() }
    }

    /// Counts a request, and keeps its blocks.
    pub(super) async fn record(&self, call: &Call<'_>, provider: Provider, request: &Request) {
        let sent = self.with_state(|state| {
            state.sent += 1;
            state.sent - 1
        });
        if sent > 0 {
            call.run.report(call.index, |report| report.prompts.requests += 1);
        }
        if !self.kept.is_kept() {
            return;
        }
        // Its size is known once it is written, and writing is most of the work.
        let read = call.services.heavy_work.run_if(true, || self.read(provider, request)).await;
        match (sent, read) {
            (0, Some(read)) => self.kept.first_request(call, read),
            // The sections of the prompt are kept already.
            (0, None) => {}
            (_, Some(read)) => self.kept.later_request(call, sent, read),
            (_, None) => self.kept.unkept_request(call),
        }
    }

    /// Keeps what a tool answered.
    pub(super) fn tool_result(
        &self,
        call: &Call<'_>,
        name: &str,
        text: &str,
        label: Sensitivity,
        is_error: bool,
    ) {
        self.with_state(|state| state.tools.push((name.to_owned(), label)));
        self.kept.tool_result(call, name, text, is_error);
    }

    pub(super) fn kept(&self) -> Kept {
        self.kept
    }

    /// The blocks of a request; `None` when no reader knows its provider's wire.
    fn read(&self, provider: Provider, request: &Request) -> Option<ReadRequest> {
        let (codec, surface): (&dyn Codec, Surface) = match provider {
            Provider::Anthropic => (codec_of(provider)?, Surface::AnthropicMessages),
            Provider::OpenAi | Provider::Azure => (codec_of(provider)?, Surface::OpenAiChat),
            Provider::OpenAiResponses => (codec_of(provider)?, Surface::OpenAiResponses),
            // Its wire has the messages and tools of chat completions, and another word for the schema.
            Provider::Ollama => (&OpenAiChat, Surface::OpenAiChat),
            Provider::Bedrock => return None,
        };
        let body = codec.encode_request(request).body.to_string();
        // The id and the time of the reader's own document are not kept.
        let clock = stave_canon::FixedClock(Timestamp::UNIX_EPOCH);
        let read = request_to_block(&body, Some(surface), None, &CountingIds::new(), &clock).ok()?.prompt;
        let tool_schema_hashes = read.tool_schema_hashes.clone();
        let structured_output_schema_id = read.structured_output_schema_id.clone();
        let laid = self.with_state(|state| Laying::new(&self.sections, &state.tools).lay(read));
        let mut span_ids = SpanIds::new();
        let mut section_blocks = HashMap::new();
        let mut blocks = Vec::with_capacity(laid.len());
        for (index, LaidBlock { section, of }) in laid.into_iter().enumerate() {
            let counted = of.and_then(|of| self.sections.get(of)?.tokens);
            let tokens = counted.unwrap_or_else(|| self.count(&request.model, &section.content));
            let span_id = span_ids.next(&section);
            if let Some(of) = of {
                section_blocks.insert(of, index);
            }
            blocks.push(KeptBlock { section, span_id, tokens: Some(tokens) });
        }
        Some(ReadRequest { blocks, tool_schema_hashes, structured_output_schema_id, section_blocks })
    }

    fn count(&self, model: &str, text: &str) -> u32 {
        if let Some(tokens) = self.with_state(|state| state.counted.get(text).copied()) {
            return tokens;
        }
        let tokens = u32::try_from(tokens::count_text(model, text).tokens).unwrap_or(u32::MAX);
        self.with_state(|state| state.counted.insert(text.to_owned(), tokens));
        tokens
    }

    fn with_state<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KnownSection {
    fn of(block: &PromptBlock, name: Option<&str>) -> KnownSection {
        let section = BlockSection::text(block.role, block.provenance, block.content.clone())
            .content_type(block.content_type)
            .sensitivity(block.sensitivity);
        KnownSection {
            section: name.into_iter().fold(section, BlockSection::named),
            tokens: block.token_metadata.as_ref().map(|tokens| tokens.token_count),
        }
    }
}

/// Lays what is known onto the blocks of one request, in their order.
struct Laying<'s> {
    system: VecDeque<(usize, &'s BlockSection)>,
    user: VecDeque<(usize, &'s BlockSection)>,
    tools: Iter<'s, (String, Sensitivity)>,
    /// The strictest label so far.
    label: Sensitivity,
    laid: Vec<LaidBlock>,
}

impl<'s> Laying<'s> {
    fn new(sections: &'s [KnownSection], tools: &'s [(String, Sensitivity)]) -> Laying<'s> {
        let known = sections.iter().enumerate().map(|(index, known)| (index, &known.section));
        let (system, user) = known
            .filter(|(_, section)| !section.content.is_empty())
            .partition(|(_, section)| section.role == PromptRole::System);
        Laying { system, user, tools: tools.iter(), label: Sensitivity::Public, laid: Vec::new() }
    }

    fn lay(mut self, read: BlockIr) -> Vec<LaidBlock> {
        let mut schemas = read.tool_schema_hashes.unwrap_or_default().into_iter();
        for block in read.blocks {
            let section = BlockSection::text(block.role, block.provenance, block.content)
                .content_type(block.content_type);
            match (block.content_type, block.role) {
                // The author of the flow wrote them.
                (BlockContentType::ToolSchema, _) => {
                    let name = schemas.next().map(|schema| schema.tool_name);
                    let section = BlockSection { provenance: Provenance::Developer, name, ..section };
                    self.push(section, None);
                }
                (BlockContentType::StructuredOutput, _) => {
                    let section = BlockSection { provenance: Provenance::Developer, ..section };
                    self.push(section.named(OUTPUT_SCHEMA), None);
                }
                (BlockContentType::ToolResult, _) => {
                    let (name, label) = match self.tools.next() {
                        Some((name, label)) => (Some(name.clone()), *label),
                        None => (None, self.label),
                    };
                    self.push(BlockSection { name, ..section }.sensitivity(label), None);
                }
                (BlockContentType::Text, PromptRole::System | PromptRole::User) => self.text(section),
                // What a model says follows from everything before it.
                _ => self.unexplained(section),
            }
        }
        self.laid
    }

    /// A text of the wire is one section after the other. Where a message has several parts, a line feed is between them.
    fn text(&mut self, block: BlockSection) {
        let is_turn = block.role == PromptRole::User && self.user.is_empty();
        let mut rest = block.content.as_str();
        while let Some((index, section)) = self.known(block.role).front().copied() {
            let text = section.content.as_str();
            let behind = rest.strip_prefix(text).or_else(|| rest.strip_prefix('\n')?.strip_prefix(text));
            let Some(behind) = behind else { break };
            rest = behind;
            self.known(block.role).pop_front();
            self.push(section.clone(), Some(index));
        }
        if rest.is_empty() {
            return;
        }
        let section = BlockSection { content: rest.to_owned(), ..block };
        if is_turn {
            // Behind the prompt, only the step itself speaks as the user.
            return self
                .unexplained(BlockSection { provenance: Provenance::Developer, ..section }.named(REPAIR));
        }
        // The wire has the text in another form, so its sections cannot be told apart.
        let label = self.known(section.role).drain(..).map(|(_, section)| section.sensitivity).max();
        self.label = self.label.join(label.unwrap_or_default());
        self.unexplained(section);
    }

    fn known(&mut self, role: PromptRole) -> &mut VecDeque<(usize, &'s BlockSection)> {
        if role == PromptRole::System { &mut self.system } else { &mut self.user }
    }

    fn unexplained(&mut self, section: BlockSection) {
        let label = self.label;
        self.push(section.sensitivity(label), None);
    }

    fn push(&mut self, section: BlockSection, of: Option<usize>) {
        self.label = self.label.join(section.sensitivity);
        self.laid.push(LaidBlock { section, of });
    }
}

#[cfg(test)]
mod tests {
    use stave_block::{Wire, build};
    use stave_canon::FixedClock;

    use super::*;

    fn section(role: PromptRole, name: &str, text: &str, label: Sensitivity) -> KnownSection {
        let section = BlockSection::text(role, Provenance::User, text).named(name).sensitivity(label);
        KnownSection { section, tokens: None }
    }

    fn laid(sections: &[KnownSection], wire: &[(PromptRole, &str)]) -> Vec<(String, String, Sensitivity)> {
        let blocks = wire.iter().map(|(role, text)| BlockSection::text(*role, Provenance::User, *text));
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        let read = build(blocks.collect(), &Wire::default(), &CountingIds::new(), &clock).unwrap();
        let laid = Laying::new(sections, &[]).lay(read);
        let row = |laid: LaidBlock| {
            let LaidBlock { section, .. } = laid;
            (section.name.unwrap_or_default(), section.content, section.sensitivity)
        };
        laid.into_iter().map(row).collect()
    }

    #[test]
    fn sections_are_found_in_the_texts_of_the_wire() {
        use PromptRole::{Assistant, System, User};
        let sections = [
            section(System, "system", "Rules.\n\n", Sensitivity::Public),
            section(System, "schema", "JSON.", Sensitivity::Public),
            section(User, "book", "A book.\n\n", Sensitivity::Public),
            section(User, "q", "Why?", Sensitivity::Private),
        ];
        let wire = [
            (System, "Rules.\n\nJSON."),
            // Two parts of one message.
            (User, "A book.\n\n\nWhy?"),
            (Assistant, "So."),
            (User, "That is no JSON."),
        ];
        let row = |name: &str, text: &str, label| (name.to_owned(), text.to_owned(), label);
        let expected = [
            row("system", "Rules.\n\n", Sensitivity::Public),
            row("schema", "JSON.", Sensitivity::Public),
            row("book", "A book.\n\n", Sensitivity::Public),
            row("q", "Why?", Sensitivity::Private),
            row("", "So.", Sensitivity::Private),
            row(REPAIR, "That is no JSON.", Sensitivity::Private),
        ];
        assert_eq!(laid(&sections, &wire), expected);
    }

    #[test]
    fn a_text_that_the_wire_has_in_another_form_has_the_strictest_label_of_its_sections() {
        use PromptRole::User;
        let sections = [
            section(User, "a", "One. ", Sensitivity::Public),
            section(User, "b", "Two.", Sensitivity::Restricted),
        ];
        let row = (String::new(), "1. 2.".to_owned(), Sensitivity::Restricted);
        assert_eq!(laid(&sections, &[(User, "1. 2.")]), [row]);
    }
}
