//! `stave merge`: what two sides made of one flow, as one flow. It can be git's merge driver.

use std::path::PathBuf;

use stave_canon::Value;
use stave_flow::merge::{Conflict, merge as merge_flows};

use crate::exit::{Exit, Stop};
use crate::files;
use crate::terminal::{self, Terminal};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  stave merge base.yaml ours.yaml theirs.yaml              the result on stdout
  stave merge base.yaml ours.yaml theirs.yaml -o ours.yaml

As git's merge driver:
  git config merge.stave.driver 'stave merge %O %A %B -o %A'
  echo 'flows/*.yaml merge=stave' >> .gitattributes

Ends with 1 on conflicts; the result then has our side, with a comment at each place.")]
pub(crate) struct Merge {
    /// The flow that both sides began with
    base: PathBuf,
    /// Our side
    ours: PathBuf,
    /// Their side
    theirs: PathBuf,
    /// Where the result is written; stdout when absent
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object on stdout and nothing else there
    #[arg(long)]
    json: bool,
}

impl Merge {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}

pub(crate) fn merge(arguments: &Merge, terminal: Terminal) -> Result<Exit, Stop> {
    let read = |path: &PathBuf| files::read_text(path);
    let (base, ours, theirs) = (read(&arguments.base)?, read(&arguments.ours)?, read(&arguments.theirs)?);
    let merged = merge_flows(&base, &ours, &theirs).map_err(|error| Stop::invalid(error.to_string()))?;
    if let Some(output) = &arguments.output {
        files::write_atomic(output, &merged.text)?;
    }
    if arguments.json {
        let conflicts = merged.conflicts.iter().map(Conflict::to_value).collect();
        let object = Value::from_iter([
            ("status", Value::from(if merged.conflicts.is_empty() { "ok" } else { "conflicts" })),
            ("conflicts", Value::Array(conflicts)),
            ("text", Value::from(merged.text.as_str())),
        ]);
        terminal::out(&object.to_string());
    } else {
        if arguments.output.is_none() {
            terminal::out_file(merged.text.trim_end_matches('\n'));
        }
        for conflict in &merged.conflicts {
            let side = |value: &Option<Value>| {
                value.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string)
            };
            let message = format!("conflict at {}", conflict.path);
            let help = format!("ours is {}, theirs is {}", side(&conflict.ours), side(&conflict.theirs));
            terminal.stop(&Stop::invalid(message).help(help));
        }
    }
    Ok(if merged.conflicts.is_empty() { Exit::Fine } else { Exit::Failed })
}
