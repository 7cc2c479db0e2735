//! `stave schema`: JSON Schemas for editors.

use stave_diag::did_you_mean;
use stave_flow::{ops, schema};

use crate::args::Schema;
use crate::exit::{Exit, Stop};
use crate::terminal;

pub(crate) fn schema(arguments: &Schema) -> Result<Exit, Stop> {
    let name = arguments.name.as_str();
    let schema = match name {
        "flow" => schema::flow(),
        _ => match ops::find(name) {
            Some(operation) => schema::operation(operation),
            None => match stave_runtime::argument_schema(name).map(stave_canon::parse) {
                Some(Ok(schema)) => schema,
                _ => return Err(unknown(name)),
            },
        },
    };
    terminal::out(stave_canon::pretty_insertion_utf8(&schema).trim_end());
    Ok(Exit::Fine)
}

fn unknown(name: &str) -> Stop {
    let steps =
        stave_runtime::kinds().into_iter().filter(|kind| stave_runtime::argument_schema(kind).is_some());
    let known = ops::CATALOGUE.iter().map(|operation| operation.name).chain(["flow"]).chain(steps);
    let stop = Stop::invalid(format!("there is no schema `{name}`"));
    match did_you_mean(name, known.clone()) {
        Some(near) => stop.help(format!("did you mean `{near}`?")),
        None => stop.help(format!("there are {}", known.collect::<Vec<_>>().join(", "))),
    }
}
