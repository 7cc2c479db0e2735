//! `stave graph`: a flow as a picture.

use std::path::Path;

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render};
use stave_flow::{CheckOptions, picture};

use crate::args::{Graph, GraphFormat};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

pub(crate) fn graph(arguments: &Graph, terminal: Terminal) -> Result<Exit, Stop> {
    let text = files::read_text(&arguments.flow)?;
    let mut sources = Sources::new();
    let source = sources.add(arguments.flow.display().to_string(), text.as_str());
    let parsed = stave_flow::load(source, &text, &CheckOptions::default());
    let Some(flow) = parsed.flow else {
        let errors: Vec<Diagnostic> = parsed.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
        if arguments.json {
            terminal::out(render::json::render(&errors, &sources).trim_end());
        } else {
            terminal::error_styled(render::terminal::render(&errors, &sources, terminal.stderr).trim_end());
        }
        return Ok(Exit::Invalid);
    };
    // A flow with mistakes is drawn as far as it goes: a picture often shows what is wrong.
    let count = parsed.diagnostics.iter().filter(|found| found.is_error()).count();
    if count > 0 && !arguments.json {
        let errors = if count == 1 { "1 error".to_owned() } else { format!("{count} errors") };
        terminal::error(&format!("the flow has {errors}; `stave check` shows them"));
    }
    let diagram = picture::diagram(&flow);
    let (name, picture) = match arguments.format {
        GraphFormat::Svg => ("svg", stave_picture::svg(&diagram)),
        GraphFormat::Mermaid => ("mermaid", stave_picture::mermaid(&diagram)),
        GraphFormat::Dot => ("dot", stave_picture::dot(&diagram)),
    };
    match (&arguments.out, arguments.json) {
        (Some(path), json) => {
            files::write_atomic(path, &picture)?;
            if json {
                terminal::out(&answer(name, Some(path), None).to_string());
            }
        }
        (None, true) => terminal::out(&answer(name, None, Some(&picture)).to_string()),
        (None, false) => terminal::out(picture.trim_end()),
    }
    Ok(Exit::Fine)
}

fn answer(format: &str, path: Option<&Path>, picture: Option<&str>) -> Value {
    Value::from_iter([
        ("format", Value::from(format)),
        ("path", path.map(|path| path.display().to_string()).into()),
        ("picture", picture.map(str::to_owned).into()),
    ])
}
