//! `stave schema`: JSON Schemas for editors, and the server's interface for its clients.

use stave_canon::Value;
use stave_diag::did_you_mean;
use stave_flow::schema;
use stave_operations::{Descriptor, Form, STEP_KINDS, step_kind};

use crate::args::Schema;
use crate::exit::{Exit, Stop};
use crate::{project, terminal};

/// A document's name, and what makes its schema.
type DocumentSchema = (&'static str, fn() -> Value);

/// The documents with the schemas that their types give.
const DOCUMENTS: [DocumentSchema; 11] = [
    ("flow", schema::flow),
    ("exec", stave_exec::schema),
    ("prompt", stave_prompt::schema),
    ("policy", stave_prompt::governance::schema),
    ("template", stave_prompt::compile::template_schema),
    ("block", stave_block::schema),
    ("system", stave_system::schema),
    ("bundle", stave_system::bundle::schema),
    ("manifest", stave_system::manifest::schema),
    ("recording", stave_llm::recording::schema),
    ("project", project::schema),
];

/// The server's interface: all of its schemas in one document, and as types of a language.
const OPENAPI: &str = "openapi";
const TYPESCRIPT: &str = "typescript";

pub(crate) fn schema(arguments: &Schema) -> Result<Exit, Stop> {
    let name = arguments.name.as_str();
    if name == TYPESCRIPT {
        terminal::out(stave_server::typescript().trim_end());
        return Ok(Exit::Fine);
    }
    let interface = (name == OPENAPI).then(stave_server::openapi);
    let document = DOCUMENTS.iter().find(|(document, _)| *document == name).map(|(_, schema)| schema());
    let kind = || step_kind(name).filter(|kind| has_schema(kind)).map(schema::operation);
    let Some(schema) = document.or(interface).or_else(kind) else { return Err(unknown(name)) };
    terminal::out(stave_canon::pretty_insertion_utf8(&schema).trim_end());
    Ok(Exit::Fine)
}

fn unknown(name: &str) -> Stop {
    let kinds = STEP_KINDS.iter().filter(|kind| has_schema(kind)).map(|kind| kind.name);
    let known = kinds.chain(DOCUMENTS.iter().map(|(name, _)| *name)).chain([OPENAPI, TYPESCRIPT]);
    let stop = Stop::invalid(format!("there is no schema `{name}`"));
    match did_you_mean(name, known.clone()) {
        Some(near) => stop.help(format!("did you mean `{near}`?")),
        None => stop.help(format!("there are {}", known.collect::<Vec<_>>().join(", "))),
    }
}

/// What a prompt and code hold is part of the schema of a flow.
fn has_schema(kind: &Descriptor) -> bool {
    matches!(kind.form, Form::Operation | Form::Workflow)
}
