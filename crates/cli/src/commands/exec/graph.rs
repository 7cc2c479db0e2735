//! `stave exec graph`: the graph of a document as a picture.

use stave_canon::Value;
use stave_exec::picture;

use crate::args::exec::{Graph, GraphFormat};
use crate::exec_document;
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(super) fn graph(arguments: &Graph, terminal: Terminal) -> Result<Exit, Stop> {
    let Some(document) = exec_document::load(&arguments.file, terminal, arguments.json)? else {
        return Ok(Exit::Invalid);
    };
    let diagram = picture::diagram(&document);
    let (format, drawn) = match arguments.format {
        GraphFormat::Mermaid => ("mermaid", stave_picture::mermaid(&diagram)),
        GraphFormat::Dot => ("dot", stave_picture::dot(&diagram)),
        GraphFormat::Svg => ("svg", stave_picture::svg(&diagram)),
    };
    if arguments.json {
        let report = [("format", Value::from(format)), ("graph", drawn.into())];
        terminal::out(&Value::from_iter(report).to_string());
    } else {
        terminal::out(drawn.trim_end());
    }
    Ok(Exit::Fine)
}
