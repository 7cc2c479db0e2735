//! `stave ops`: the operations and step kinds, or one of them.

use stave_canon::Value;
use stave_diag::{did_you_mean, page};
use stave_operations::{Descriptor, STEP_KINDS, section, step_kind, to_value};

use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave ops
  stave ops http.post
  stave ops --json | jq '.operations[] | select(.effects == \"writes\") | .name'")]
pub(crate) struct Ops {
    /// The operation, such as `http.post`; all are listed when none is given
    pub(crate) name: Option<String>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn ops(arguments: &Ops, terminal: Terminal) -> Result<Exit, Stop> {
    let Some(name) = &arguments.name else {
        list(arguments.json);
        return Ok(Exit::Fine);
    };
    let Some(kind) = step_kind(name) else {
        let stop = Stop::invalid(format!("there is no operation `{name}`"));
        return Err(match did_you_mean(name, STEP_KINDS.iter().map(|kind| kind.name)) {
            Some(near) => stop.help(format!("did you mean `{near}`?")),
            None => stop.help("`stave ops` lists all operations"),
        });
    };
    if arguments.json {
        terminal::out(&to_value(kind).to_string());
    } else {
        let text = format!("# {}\n\n{}", kind.name, section(kind));
        terminal::out_styled(page::to_terminal(&text, terminal.stdout).trim_end());
    }
    Ok(Exit::Fine)
}

fn list(json: bool) {
    if json {
        let operations: Vec<Value> = STEP_KINDS.iter().copied().map(to_value).collect();
        terminal::out(&Value::from_iter([("operations", Value::Array(operations))]).to_string());
        return;
    }
    let width = |of: fn(&Descriptor) -> &str| STEP_KINDS.iter().map(|kind| of(kind).len()).max().unwrap_or(0);
    let (name, effects) = (width(|kind| kind.name), width(|kind| kind.effects.word()));
    for kind in STEP_KINDS {
        let network = if kind.network { "network" } else { "" };
        terminal::out(&format!(
            "{:name$}  {:effects$}  {network:7}  {}",
            kind.name,
            kind.effects.word(),
            kind.summary
        ));
    }
}
