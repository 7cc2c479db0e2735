//! `stave prompt hash`: the SHA-256 of prompts, as transformation records carry it.

use stave_canon::Value;
use stave_prompt::{sha256, short_hash};

use super::arguments::Selected;
use super::{Answer, Task, invalid, print};
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(super) fn hash(selected: &Selected, terminal: Terminal) -> Result<Exit, Stop> {
    let task = Task::read(selected, terminal)?;
    if selected.json {
        let answers = task.documents.documents.iter().filter_map(|document| match &document.prompt {
            Ok(ir) => Some(Answer {
                value: Value::from_iter([
                    ("ir_id", ir.ir_id.as_str()),
                    ("hash", short_hash(ir).as_str()),
                    ("sha256", sha256(ir).as_str()),
                ]),
                exit: Exit::Fine,
            }),
            Err(_) => invalid(&task, document),
        });
        return Ok(print(answers.collect(), true));
    }
    task.show_faults(terminal);
    let mut exit = Exit::Fine;
    for document in &task.documents.documents {
        match &document.prompt {
            Ok(ir) => terminal::out(&format!("{}  {}", short_hash(ir), ir.ir_id)),
            Err(_) => exit = Exit::Invalid,
        }
    }
    Ok(exit)
}
