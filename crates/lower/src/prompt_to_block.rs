//! Prompt to block: one block per section, each with its own role, origin and sensitivity.

use stave_block::{BlockBuildError, BlockIr, BlockSection, PromptRole, Tokenizer, ToolSchema, Wire, build};
use stave_canon::{Clock, Ids, Value};
use stave_prompt::compile::{CompiledPrompt, Section, SectionKind};

/// What is sent beside the sections.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromptBlocks<'b> {
    pub tools: &'b [ToolSchema],
    pub output_schema: Option<&'b Value>,
    /// Whether the provider is given the schema itself, so that the text need not repeat it.
    pub native_schema: bool,
    pub tokenizer: Option<Tokenizer<'b>>,
}

/// Lowers a compiled prompt. The contents of the blocks of one role, one after the other, are the
/// message: what separates two sections belongs to the first of them.
pub fn prompt_to_block(
    prompt: &CompiledPrompt,
    with: &PromptBlocks<'_>,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<BlockIr, BlockBuildError> {
    let sent: Vec<&Section> = sent_sections(prompt, with.native_schema).collect();
    let mut blocks = Vec::with_capacity(sent.len());
    for (index, section) in sent.iter().enumerate() {
        let next = sent.get(index + 1).filter(|next| role(next.kind) == role(section.kind));
        // The pieces of a rendered template touch; every other section is separate.
        let touches =
            section.kind == SectionKind::Input && next.is_some_and(|next| next.kind == SectionKind::Input);
        let separator = if next.is_some() && !touches { "\n\n" } else { "" };
        let content = format!("{}{separator}", section.text);
        let block = BlockSection::text(role(section.kind), section.provenance, content);
        blocks.push(block.named(&section.name).sensitivity(section.sensitivity));
    }
    let wire = Wire {
        tools: Some(with.tools),
        structured_output_schema: with.output_schema,
        source_request: None,
        tokenizer: with.tokenizer,
    };
    build(blocks, &wire, ids, clock)
}

/// The sections that are sent, one for each block, in the order of the blocks: first what speaks as the system. A
/// provider that is given the schema itself needs no text about it.
pub fn sent_sections(prompt: &CompiledPrompt, native_schema: bool) -> impl Iterator<Item = &Section> {
    let is_sent = move |section: &&Section| {
        let is_repeated = native_schema && section.kind == SectionKind::OutputSchema;
        !is_repeated && !section.text.is_empty()
    };
    let of = |is_system: bool| {
        let sections = prompt.sections.iter().filter(is_sent);
        sections.filter(move |section| (role(section.kind) == PromptRole::System) == is_system)
    };
    of(true).chain(of(false))
}

/// What stays the same from call to call speaks as the system; what changes, as the user. Interfaces require a message of
/// the user, which is the task when there is nothing else.
fn role(kind: SectionKind) -> PromptRole {
    match kind {
        SectionKind::Instructions | SectionKind::Constraints | SectionKind::OutputSchema => {
            PromptRole::System
        }
        SectionKind::Task
        | SectionKind::Context
        | SectionKind::History
        | SectionKind::ToolResult
        | SectionKind::Input => PromptRole::User,
    }
}
