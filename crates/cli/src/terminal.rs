//! What people see: colour decisions, messages, tables.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use stave_diag::render::Colour;

use crate::args;
use crate::exit::Stop;

/// How the two output streams are to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    pub(crate) stdout: Colour,
    pub(crate) stderr: Colour,
    /// Whether stderr is a terminal on which something can be drawn over itself.
    pub(crate) is_live: bool,
}

impl Terminal {
    pub(crate) fn new(choice: args::Colour) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let decide = |is_terminal: bool| match choice {
            args::Colour::Always => Colour::Always,
            args::Colour::Never => Colour::Never,
            args::Colour::Auto if is_terminal && !no_color && !dumb => Colour::Always,
            args::Colour::Auto => Colour::Never,
        };
        Terminal {
            stdout: decide(std::io::stdout().is_terminal()),
            stderr: decide(std::io::stderr().is_terminal()),
            is_live: std::io::stderr().is_terminal() && !dumb && choice != args::Colour::Never,
        }
    }

    /// Says why a command could not do its work.
    pub(crate) fn stop(self, stop: &Stop) {
        let (red, bold, plain) = match self.stderr {
            Colour::Always => ("\u{1b}[1;31m", "\u{1b}[1m", "\u{1b}[0m"),
            Colour::Never => ("", "", ""),
        };
        error(&format!("{red}error{plain}{bold}: {}{plain}", stop.message));
        if let Some(help) = &stop.help {
            error(&format!("  {bold}help{plain}: {help}"));
        }
    }
}

/// A line on stdout. A reader that went away is not our failure.
pub(crate) fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// A warning on stderr, once in a process.
pub(crate) fn warn_once(text: &str) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
        error(&format!("warning: {text}"));
    }
}

/// A line on stderr.
pub(crate) fn error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
