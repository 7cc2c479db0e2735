//! The blocks of requests that were kept: those of a run's step, and those of the gateway's records.
//!
//! Invariant: what `stave runs show` hides of a run is hidden here. A record of the gateway has no contents at all.

use stave_block::{BlockContentType, BlockIr, PromptBlock, TokenizationMetadata, ToolSchemaHash, to_value};
use stave_canon::{Object, Value};
use stave_gateway::records::{RecordedBlocks, StoredRecord};
use stave_runtime::evidence::{AskedRequest, asked_requests};

use super::arguments::Kept;
use crate::archive::{Archive, ArchiveLocation};
use crate::exit::{Exit, Stop};
use crate::gateway_record::gateway_record;

/// How many bytes of a record's block count as a token.
const BYTES_PER_TOKEN: u32 = 4;

/// The blocks of one request, with what distinguishes equal contents from others.
pub(super) struct StoredBlocks {
    pub(super) blocks: BlockIr,
    /// By block, the hash of its content; `None` where nothing of it is kept but the span id.
    pub(super) contents: Vec<Option<String>>,
    /// What a document of it says beside the format, at its top and by block.
    pub(super) about: Object,
    pub(super) about_blocks: Vec<Object>,
    /// What has to be said about it to people.
    pub(super) notes: Vec<String>,
}

/// Which request of a run.
pub(super) struct StepRequest<'a> {
    pub(super) run: &'a str,
    pub(super) step: &'a str,
    /// Counted from 1.
    pub(super) request: Option<usize>,
}

impl StoredBlocks {
    /// The blocks of a document or a body, which has all its contents.
    pub(super) fn whole(blocks: BlockIr) -> StoredBlocks {
        let contents = blocks.blocks.iter().map(|block| Some(stave_canon::prefixed_sha256(&block.content)));
        StoredBlocks {
            contents: contents.collect(),
            about: Object::new(),
            about_blocks: Vec::new(),
            notes: Vec::new(),
            blocks,
        }
    }

    /// The block document with what else is known.
    pub(super) fn to_value(&self) -> Value {
        let mut value = to_value(&self.blocks);
        let Some(members) = value.as_object_mut() else { return value };
        if let Some(Value::Array(blocks)) = members.get_mut("blocks") {
            for (block, about) in blocks.iter_mut().zip(&self.about_blocks) {
                if let Some(block) = block.as_object_mut() {
                    block.extend(about.clone());
                }
            }
        }
        members.extend(self.about.clone());
        value
    }
}

/// What a step of a run asked.
pub(super) fn of_run(wanted: &StepRequest<'_>, kept: &Kept) -> Result<StoredBlocks, Stop> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    let place = ArchiveLocation { state_dir: kept.state_dir.clone(), engine: kept.engine.choice() };
    let run = runtime.block_on(async {
        let archive = Archive::existing_to_read(&place)?;
        archive.run(wanted.run).await
    })?;
    let id = run.summary.id.clone();
    let asked = |report: stave_runtime::RunReport| {
        let node = report.nodes.into_iter().find(|node| node.id == wanted.step);
        node.map(|node| (node.questions, node.model.is_none().then_some(node.kind)))
    };
    let Some((whole, asks_nobody)) = asked(run.report()) else {
        return Err(Stop::invalid(format!("run `{id}` has no step `{}`", wanted.step))
            .help(format!("`stave runs show {id}` lists its steps")));
    };
    let shown = if kept.show_restricted {
        whole
    } else {
        let left = asked(run.redacted().report()).unwrap_or_default().0;
        if left.is_empty() && !whole.is_empty() {
            return Err(Stop::refused(format!(
                "step `{}` reads restricted values, so what it asked is hidden",
                wanted.step
            ))
            .help("--show-restricted shows it"));
        }
        left
    };
    let requests = asked_requests(&shown);
    let count = requests.len();
    let number = wanted.request.unwrap_or(count);
    let Some(request) = number.checked_sub(1).and_then(|index| requests.get(index)) else {
        let step = wanted.step;
        let (message, help) = match (count, asks_nobody) {
            (0, Some(kind)) => (
                format!("step `{step}` of run `{id}` asked no model"),
                format!("its kind is `{kind}`; `stave runs show {id}` lists the steps with their models"),
            ),
            (0, None) => (
                format!("nothing is kept of what step `{step}` of run `{id}` asked a model"),
                "model steps keep their requests unless `prompts = false` in `[journal]` of stave.toml"
                    .to_owned(),
            ),
            (1, _) => (
                format!(
                    "of step `{step}` of run `{id}` one request is kept, so there is no request {number}"
                ),
                "leave --request out".to_owned(),
            ),
            _ => (
                format!(
                    "of step `{step}` of run `{id}` {count} requests are kept, so there is no request {number}"
                ),
                format!("--request takes 1 to {count}"),
            ),
        };
        return Err(Stop::invalid(message).help(help));
    };
    let Some(blocks) = request.block_document() else {
        let prompt = request.prompt;
        let stage = prompt.verdict.stage.as_deref().unwrap_or_default();
        let message = match prompt.verdict.approved {
            true => "an earlier version kept the request, without span ids".to_owned(),
            false => format!("the request was refused ({stage}) before it had blocks"),
        };
        return Err(Stop { exit: Exit::Failed, ..Stop::invalid(message) });
    };
    Ok(of_request(
        request,
        blocks,
        &[
            ("run_id", id.into()),
            ("step", wanted.step.into()),
            ("request", number.into()),
            ("requests", count.into()),
        ],
    ))
}

fn of_request(request: &AskedRequest<'_>, blocks: BlockIr, about: &[(&str, Value)]) -> StoredBlocks {
    let prompt = request.prompt;
    let mut members: Object = about.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    members.insert("model".into(), prompt.model.as_str().into());
    members.insert("approved".into(), prompt.verdict.approved.into());
    let mut notes = Vec::new();
    if !prompt.verdict.approved {
        notes.push("the request was refused by the gate and never sent".to_owned());
    }
    let cut = request.blocks.iter().filter(|block| block.truncated).count();
    if cut > 0 {
        notes.push(format!("of {cut} blocks only the beginning is kept"));
    }
    if prompt.unkept_requests > 0 {
        notes.push(format!("{} more requests of this prompt are not kept", prompt.unkept_requests));
    }
    let about_blocks = request.blocks.iter().map(|block| {
        let mut about = Object::new();
        about.insert("name".into(), block.name.clone().into());
        about.insert("truncated".into(), block.truncated.into());
        about.insert("withheld".into(), block.withheld.into());
        about.insert("content_hash".into(), block.content_hash.clone().into());
        about
    });
    StoredBlocks {
        blocks,
        contents: request.blocks.iter().map(|block| block.content_hash.clone()).collect(),
        about: members,
        about_blocks: about_blocks.collect(),
        notes,
    }
}

/// What the gateway sent, without the contents.
pub(super) fn of_record(id: &str, kept: &Kept) -> Result<StoredBlocks, Stop> {
    let record = gateway_record(id, kept.state_dir.as_deref())?;
    let Some(recorded) = &record.blocks else {
        let message = format!("the record of request `{}` has no blocks", record.id);
        return Err(Stop { exit: Exit::Failed, ..Stop::invalid(message) }
            .help("a request that was not sent has none, and neither have records of earlier versions"));
    };
    let blocks = block_document(&record, recorded)?;
    let mut about = Object::new();
    about.insert("record".into(), record.id.as_str().into());
    about.insert("model".into(), record.model.as_str().into());
    about.insert("left_out".into(), recorded.left_out.into());
    let mut notes = vec!["a record of the gateway has no contents; tokens are four bytes each".to_owned()];
    if recorded.left_out > 0 {
        notes.push(format!("{} more blocks are not kept", recorded.left_out));
    }
    if let Some(miss) = &record.miss {
        let member = |text: &Option<String>| Value::from(text.clone());
        let miss_value = Value::from_iter([
            ("place", Value::from(miss.place.as_str())),
            ("block", member(&miss.block)),
            ("block_before", member(&miss.block_before)),
            ("common_tokens", miss.common_tokens.into()),
            ("lost_tokens", miss.lost_tokens.into()),
        ]);
        about.insert("miss".into(), miss_value);
        let block = miss.block.as_deref().unwrap_or("a block");
        notes.push(format!(
            "the cache was missed at {}: {block} changed, and {} tokens behind it were paid for again",
            miss.place, miss.lost_tokens
        ));
    }
    let mut withheld = Object::new();
    withheld.insert("withheld".into(), true.into());
    Ok(StoredBlocks {
        contents: recorded.blocks.iter().map(|block| block.schema.map(|hash| prefixed(&hash))).collect(),
        about_blocks: vec![withheld; blocks.blocks.len()],
        blocks,
        about,
        notes,
    })
}

fn block_document(record: &StoredRecord, recorded: &RecordedBlocks) -> Result<BlockIr, Stop> {
    let ids = recorded.span_ids();
    let family = "estimate";
    let mut tools = Vec::new();
    let mut output_schema = None;
    let mut blocks = Vec::with_capacity(ids.len());
    for (index, (block, span_id)) in recorded.blocks.iter().zip(ids).enumerate() {
        match (block.content_type, block.schema) {
            // The names of tools are the client's words, so the span stands for them.
            (BlockContentType::ToolSchema, Some(hash)) => tools.push(ToolSchemaHash {
                tool_name: span_id.as_str().to_owned(),
                schema_hash: prefixed(&hash),
            }),
            (BlockContentType::StructuredOutput, Some(hash)) => output_schema = Some(prefixed(&hash)),
            _ => {}
        }
        blocks.push(PromptBlock {
            span_id,
            sequence_index: u32::try_from(index).unwrap_or(u32::MAX),
            role: block.role,
            content: String::new(),
            content_type: block.content_type,
            provenance: block.provenance,
            sensitivity: block.sensitivity,
            token_metadata: Some(TokenizationMetadata {
                model_family: family.to_owned(),
                token_count: block.length.div_ceil(BYTES_PER_TOKEN),
            }),
        });
    }
    // An id of a request is the digits of a UUID behind a word.
    let digits = record.id.rsplit('_').next().unwrap_or_default();
    let ir_id = digits
        .parse()
        .map_err(|_| Stop::internal(format!("`{}` is not the id of a request of the gateway", record.id)))?;
    Ok(BlockIr {
        ir_id,
        blocks,
        tool_schema_hashes: Some(tools).filter(|tools| !tools.is_empty()),
        structured_output_schema_id: output_schema,
        source_request_hash: record.request_hash.map(|hash| prefixed(&hash)),
        created_at: record.time,
    })
}

fn prefixed(hash: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    let mut text = "sha256:".to_owned();
    for byte in hash {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
