//! `stave block show`.

use comfy_table::Cell;
use stave_block::{BlockIr, PromptBlock};
use stave_diag::render::visible;

use super::arguments::Show;
use super::input;
use super::stored::{self, StepRequest, StoredBlocks};
use crate::exit::{Exit, Stop};
use crate::table;
use crate::terminal::{self, Terminal};

/// How many characters of a block the table shows.
const SHOWN: usize = 60;

pub(super) fn show(arguments: &Show, terminal: Terminal) -> Result<Exit, Stop> {
    let stored = match (&arguments.body, &arguments.document, &arguments.run, &arguments.record) {
        (Some(body), ..) => StoredBlocks::whole(input::body(body, &arguments.reading)?),
        (_, Some(document), ..) => StoredBlocks::whole(input::document(document)?),
        (_, _, Some(run), _) => {
            let step = arguments.step.as_deref().unwrap_or_default();
            stored::of_run(&StepRequest { run, step, request: arguments.request }, &arguments.kept)?
        }
        (.., Some(record)) => stored::of_record(record, &arguments.kept)?,
        (None, None, None, None) => {
            return Err(Stop::invalid("name a block document, a body with --body, a run or a record"));
        }
    };
    if arguments.reading.json {
        terminal::out(&stored.to_value().to_string());
        return Ok(Exit::Fine);
    }
    let blocks = &stored.blocks;
    terminal::out_styled(&laid_out(blocks, terminal));
    stored.notes.iter().for_each(|note| terminal::error(note));
    if let Some(hash) = &blocks.source_request_hash {
        terminal::out(&format!("request {hash}"));
    }
    for tool in blocks.tool_schema_hashes.iter().flatten() {
        terminal::out(&format!("tool {} {}", tool.tool_name, tool.schema_hash));
    }
    if let Some(schema) = &blocks.structured_output_schema_id {
        terminal::out(&format!("output schema {schema}"));
    }
    Ok(Exit::Fine)
}

fn laid_out(blocks: &BlockIr, terminal: Terminal) -> String {
    let mut table = table::empty(terminal.stdout);
    table.set_header(["#", "span", "role", "content", "from", "label", "tokens", "begins"]);
    for block in &blocks.blocks {
        table.add_row([
            Cell::new(block.sequence_index),
            Cell::new(visible(block.span_id.as_str())),
            Cell::new(block.role.word()),
            Cell::new(block.content_type.word()),
            Cell::new(block.provenance.word()),
            Cell::new(block.sensitivity.word()),
            Cell::new(tokens(block)),
            Cell::new(beginning(&block.content)),
        ]);
    }
    let total = blocks.token_count().map(|tokens| tokens.to_string()).unwrap_or_default();
    let label = blocks.sensitivity().word();
    let row = ["", "", "", "total", "", label, total.as_str(), ""];
    table.add_row(row.map(str::to_owned));
    table.to_string()
}

fn tokens(block: &PromptBlock) -> String {
    block.token_metadata.as_ref().map(|tokens| tokens.token_count.to_string()).unwrap_or_default()
}

/// The beginning of a content on one line.
fn beginning(content: &str) -> String {
    let line: String =
        content.chars().map(|sign| if sign.is_whitespace() { ' ' } else { sign }).take(SHOWN).collect();
    let rest = if content.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("{}{rest}", visible(&line))
}
