//! What people see: colour decisions, messages, tables.
//!
//! Invariant: nothing else writes to the terminal, and what is written here cannot steer it. Texts of flows, models,
//! hosts and files lose every control character but line feed and tab; colours are ours alone, and only
//! [`out_styled`] and [`error_styled`] let them through.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use stave_canon::{Clock, Value};
use stave_diag::render::{Colour, visible};

use crate::args;
use crate::exit::Stop;
use crate::ports::SystemClock;

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
        error_styled(&self.stop_text(stop));
    }

    /// The same as a text with our colours.
    pub(crate) fn stop_text(self, stop: &Stop) -> String {
        let (red, bold, plain) = match self.stderr {
            Colour::Always => ("\u{1b}[1;31m", "\u{1b}[1m", "\u{1b}[0m"),
            Colour::Never => ("", "", ""),
        };
        let code = stop.code.map(|code| format!("[{code}]")).unwrap_or_default();
        let mut text = format!("{red}error{code}{plain}{bold}: {}{plain}", visible(&stop.message));
        if let Some(help) = &stop.help {
            text.push_str(&format!("\n  {bold}help{plain}: {}", visible(help)));
        }
        text
    }
}

/// A line on stdout. A reader that went away is not our failure.
pub(crate) fn out(text: &str) {
    write_out(&neutral(text, Styles::Shown));
}

/// A line on stdout with colours of ours. A caller that colours a text makes its parts [`visible`] before.
pub(crate) fn out_styled(text: &str) {
    write_out(&neutral(text, Styles::Kept));
}

/// A line on stdout that is a file for another program. It goes out as it is, unless a person would see it.
pub(crate) fn out_file(text: &str) {
    if std::io::stdout().is_terminal() {
        out(text);
    } else {
        write_out(text);
    }
}

/// A warning on stderr.
pub(crate) fn warn(text: &str) {
    error(&format!("warning: {text}"));
}

/// Whether stderr is for a program that reads an object on each line.
static JSON_LINES: AtomicBool = AtomicBool::new(false);

/// From here on, everything on stderr is an object on one line.
pub(crate) fn tell_json_lines() {
    JSON_LINES.store(true, Ordering::Relaxed);
}

/// A line of a log on stderr, which is an object already when stderr is for a program.
pub(crate) fn log_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", neutral(line, Styles::Kept));
}

/// The same text as an object on one line.
fn json_line(text: &str) -> String {
    let members = [
        ("time", SystemClock.now().to_string()),
        ("level", "warn".to_owned()),
        ("event", "message".to_owned()),
        ("message", text.to_owned()),
    ];
    Value::from_iter(members).to_string()
}

/// A line on stderr.
pub(crate) fn error(text: &str) {
    let object = JSON_LINES.load(Ordering::Relaxed).then(|| json_line(text));
    let text = object.as_deref().unwrap_or(text);
    let _ = writeln!(std::io::stderr().lock(), "{}", neutral(text, Styles::Shown));
}

/// A line on stderr with colours of ours. A caller that colours a text makes its parts [`visible`] before.
pub(crate) fn error_styled(text: &str) {
    if JSON_LINES.load(Ordering::Relaxed) {
        return error(text);
    }
    let _ = writeln!(std::io::stderr().lock(), "{}", neutral(text, Styles::Kept));
}

/// Draws over what was drawn before: `lines` are in our colours, and `back` lines are taken away first.
pub(crate) fn redraw(back: usize, lines: &[String]) {
    let mut text = if back == 0 { String::new() } else { format!("\u{1b}[{back}A\r\u{1b}[J") };
    for line in lines {
        text.push_str(&neutral(line, Styles::Kept));
        text.push_str("\u{1b}[K\n");
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Overwrites the current line of stderr.
pub(crate) fn overwrite_line(text: &str) {
    let _ = write!(std::io::stderr().lock(), "\r{:60}\r{}", "", neutral(text, Styles::Shown));
}

fn write_out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
}

/// What becomes of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Styles {
    Kept,
    Shown,
}

/// The text without anything that steers a terminal. Control characters that JSON never holds raw become signs. Others
/// become `\u202e` and the like, which inside JSON means the character itself.
fn neutral(text: &str, styles: Styles) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let style = if styles == Styles::Kept { style(rest) } else { None };
        let taken = match style {
            Some(style) => {
                shown.push_str(style);
                style.len()
            }
            None => {
                match next {
                    '\0'..='\u{1f}' if steers(next) => {
                        shown.push_str(&visible(next.encode_utf8(&mut [0; 4])));
                    }
                    other if steers(other) => {
                        shown.push_str(&format!("\\u{:04x}", u32::from(other)));
                    }
                    other => shown.push(other),
                }
                next.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(shown)
}

fn steers(next: char) -> bool {
    let is_bidirectional = matches!(next, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_bidirectional || (next.is_control() && next != '\n' && next != '\t')
}

/// A colour or a weight at the beginning of a text: `ESC [ 1;31 m`, and nothing else that a terminal understands.
fn style(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|next: char| !next.is_ascii_digit() && next != ';')?;
    if end > 16 || !parameters.get(end..)?.starts_with('m') {
        return None;
    }
    text.get(..end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str =
        "a\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[31mb\r\u{8}\u{7f}\u{9b}2J\u{202e}c\u{2066}\td\n";

    #[test]
    fn nothing_in_a_text_steers_the_terminal() {
        let shown = neutral(HOSTILE, Styles::Shown);
        assert_eq!(shown, "a␛]0;title␇␛[2J␛[31mb␍␈\\u007f\\u009b2J\\u202ec\\u2066\td\n");
        let styled = neutral(HOSTILE, Styles::Kept);
        assert_eq!(styled, "a␛]0;title␇␛[2J\u{1b}[31mb␍␈\\u007f\\u009b2J\\u202ec\\u2066\td\n");
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = Value::from(HOSTILE);
        let text = value.to_string();
        assert_eq!(stave_canon::parse(&neutral(&text, Styles::Shown)).unwrap(), value);
    }
}
