//! `stave exec validate`: the eight rules, every violation at its pointer, line and column.

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources, render, sort};
use stave_exec::Acceptance;

use crate::args::exec::Validate;
use crate::exec_document;
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(super) fn validate(arguments: &Validate, terminal: Terminal) -> Result<Exit, Stop> {
    let acceptance = if arguments.additive { Acceptance::Additive } else { Acceptance::Exact };
    let mut sources = Sources::new();
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    let mut documents = Vec::new();
    let mut unreadable = Vec::new();
    for file in &arguments.files {
        // One file that cannot be read is no reason to keep quiet about the others.
        let read = match exec_document::read(file, acceptance, &mut sources) {
            Ok(read) => read,
            Err(stop) => {
                documents.push(Value::from_iter([
                    ("file", Value::from(file.display().to_string())),
                    ("valid", false.into()),
                    ("error", stop.message.as_str().into()),
                ]));
                unreadable.push(stop);
                continue;
            }
        };
        let (text, found) = (read.text, read.result.err().unwrap_or_default());
        // The pointers are printed beside the places, for machines that have the document and not its text.
        let faults = stave_canon::parse_untrusted(&text)
            .ok()
            .and_then(|value| stave_exec::read(&value, acceptance).err());
        let faults = faults.unwrap_or_default().into_iter().map(|fault| {
            Value::from_iter([
                ("pointer", Value::from(fault.pointer)),
                ("code", fault.code.0.into()),
                ("message", fault.message.into()),
            ])
        });
        documents.push(Value::from_iter([
            ("file", Value::from(file.display().to_string())),
            ("valid", found.is_empty().into()),
            ("faults", Value::Array(faults.collect())),
        ]));
        diagnostics.extend(found);
        diagnostics.extend(read.warnings);
    }
    sort(&mut diagnostics);
    let is_valid = !diagnostics.iter().any(Diagnostic::is_error) && unreadable.is_empty();
    if arguments.json {
        let report = [
            ("valid", Value::from(is_valid)),
            ("documents", Value::Array(documents)),
            ("diagnostics", exec_document::diagnostics(&diagnostics, &sources)),
        ];
        terminal::out(&Value::from_iter(report).to_string());
    } else {
        let text = render::terminal::render(&diagnostics, &sources, terminal.stderr);
        if !text.is_empty() {
            terminal::error_styled(text.trim_end());
            terminal::error("");
        }
        for stop in &unreadable {
            terminal.stop(stop);
        }
        let count = arguments.files.len() - unreadable.len();
        let counted = if count == 1 { "1 document".to_owned() } else { format!("{count} documents") };
        terminal::error(&format!("validated {counted}: {}", render::summary(&diagnostics)));
    }
    Ok(if is_valid { Exit::Fine } else { Exit::Invalid })
}
