//! `stave explain`: the page of a code, or the list of all of them.

use stave_canon::Value;
use stave_diag::{CODES, CodeInfo, did_you_mean, lookup, page};
use stave_operations::step_kind;

use crate::args::Explain;
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(crate) fn explain(arguments: &Explain, terminal: Terminal) -> Result<Exit, Stop> {
    let Some(name) = &arguments.code else {
        list(arguments.json);
        return Ok(Exit::Fine);
    };
    let Some(info) = lookup(name) else {
        if let Some(says) = stave_server::problem_code(name) {
            http_code(name, says, arguments.json);
            return Ok(Exit::Fine);
        }
        let known = CODES.iter().copied().flatten().map(|info| info.code.0);
        let known = known.chain(stave_server::PROBLEM_CODES.iter().map(|(code, _)| *code));
        let stop = Stop::invalid(format!("there is no code `{name}`"));
        if step_kind(name).is_some() {
            return Err(stop.help(format!("`stave ops {name}` describes the operation")));
        }
        return Err(match did_you_mean(name, known) {
            Some(near) => stop.help(format!("did you mean `{near}`?")),
            None => stop.help("`stave explain` lists all codes"),
        });
    };
    if arguments.json {
        let mut row = row(info);
        if let Some(row) = row.as_object_mut() {
            row.insert("page".into(), info.page.into());
        }
        terminal::out(&row.to_string());
    } else {
        terminal::out_styled(page::to_terminal(info.page, terminal.stdout).trim_end());
    }
    Ok(Exit::Fine)
}

/// A code that only the HTTP interface answers with, which has no page.
fn http_code(code: &str, says: &str, json: bool) {
    if json {
        let row = Value::from_iter([("code", code), ("severity", "error"), ("summary", says)]);
        terminal::out(&row.to_string());
    } else {
        terminal::out(&format!("{code}: {says}\n\n`stave serve` answers with this code; see docs/serve.md."));
    }
}

fn list(json: bool) {
    let rows = CODES.iter().copied().flatten();
    if json {
        let codes: Vec<Value> = rows.map(row).collect();
        terminal::out(&Value::from_iter([("codes", Value::Array(codes))]).to_string());
        return;
    }
    let width = rows.clone().map(|info| info.code.0.len()).max().unwrap_or(0);
    for info in rows {
        terminal::out(&format!("{:width$}  {:7}  {}", info.code.0, info.severity.word(), info.summary));
    }
}

fn row(info: &CodeInfo) -> Value {
    Value::from_iter([("code", info.code.0), ("severity", info.severity.word()), ("summary", info.summary)])
}
