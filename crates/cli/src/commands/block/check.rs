//! `stave block check`.

use stave_canon::Value;

use super::arguments::BlockCheck;
use super::input;
use crate::exit::{Exit, Stop};
use crate::terminal;

pub(super) fn check(arguments: &BlockCheck) -> Result<Exit, Stop> {
    let blocks = input::document(&arguments.document)?;
    let count = blocks.blocks.len();
    if arguments.json {
        let label = blocks.sensitivity().word();
        let value = Value::from_iter([
            ("valid", Value::from(true)),
            ("blocks", count.into()),
            ("tokens", blocks.token_count().map(|tokens| tokens as i64).into()),
            ("sensitivity", label.into()),
        ]);
        terminal::out(&value.to_string());
    } else {
        terminal::error(&format!(
            "{}: a valid block document of {count} blocks",
            arguments.document.display()
        ));
    }
    Ok(Exit::Fine)
}
