//! A diff for people.

use similar::{ChangeTag, TextDiff};
use stave_canon::Value;
use stave_diag::Colour;
use stave_diag::render::visible;

use super::{ChangeKind, Diff, FlowChange, FlowPart};

/// The longest value that is shown on a line.
const LONGEST: usize = 100;

/// A diff as lines of text.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'diff> {
    diff: &'diff Diff,
    colour: Colour,
}

/// The diff as people read it: what came with `+`, what went with `-`, what changed with `~`.
#[must_use]
pub fn show(diff: &Diff, colour: Colour) -> Shown<'_> {
    Shown { diff, colour }
}

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut owner = String::new();
        for change in &self.diff.changes {
            self.change(change, &mut owner, out)?;
        }
        if self.diff.changes.is_empty() {
            writeln!(out, "the flows mean the same")?;
        }
        if !self.diff.layout.is_empty() {
            writeln!(out, "layout: {}", counted(self.diff.layout.len(), "value differs", "values differ"))?;
        }
        let (added, removed) = (self.diff.comments_added.len(), self.diff.comments_removed.len());
        if added + removed > 0 {
            writeln!(out, "comments: {added} added, {removed} removed")?;
        }
        Ok(())
    }
}

impl Shown<'_> {
    fn painted(&self, sign: char, text: &str) -> String {
        let (code, end) = match (self.colour, sign) {
            (Colour::Never, _) => ("", ""),
            (_, '+') => ("\u{1b}[32m", "\u{1b}[0m"),
            (_, '-') => ("\u{1b}[31m", "\u{1b}[0m"),
            (_, _) => ("\u{1b}[33m", "\u{1b}[0m"),
        };
        format!("{code}{sign} {}{end}", visible(text))
    }

    fn change(
        &self,
        change: &FlowChange,
        owner: &mut String,
        out: &mut std::fmt::Formatter<'_>,
    ) -> std::fmt::Result {
        let steps: Vec<String> =
            change.path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        let words: Vec<&str> = steps.iter().map(String::as_str).collect();
        let sign = match change.kind {
            ChangeKind::Added => '+',
            ChangeKind::Removed => '-',
            ChangeKind::Changed | ChangeKind::Renamed => '~',
        };
        if change.kind == ChangeKind::Renamed {
            let name =
                |value: &Option<Value>| value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
            let line = format!("node `{}` is `{}`", name(&change.before), name(&change.after));
            return writeln!(out, "{}", self.painted(sign, &line));
        }
        match words.as_slice() {
            ["nodes", id] => {
                let body = change.after.as_ref().or(change.before.as_ref());
                writeln!(
                    out,
                    "{}",
                    self.painted(sign, &format!("node `{id}`{}", body.map(described).unwrap_or_default()))
                )
            }
            ["edges", ends] => {
                let edge = change.after.as_ref().or(change.before.as_ref());
                let extra = edge.and_then(|edge| edge.get("condition")).and_then(Value::as_str);
                let is_else = edge.and_then(|edge| edge.get("else")) == Some(&Value::Bool(true));
                let extra = match extra {
                    Some(text) => format!(" when {text}"),
                    None if is_else => " else".to_owned(),
                    None => String::new(),
                };
                writeln!(out, "{}", self.painted(sign, &format!("edge {ends}{extra}")))
            }
            ["nodes", id, rest @ ..] => {
                let head = format!("node `{id}`");
                self.field(change, sign, &head, rest, owner, out)
            }
            ["edges", ends, rest @ ..] => self.field(change, sign, &format!("edge {ends}"), rest, owner, out),
            [first, rest @ ..] => self.field(change, sign, first, rest, owner, out),
            [] => writeln!(out, "{}", self.painted(sign, "the whole flow")),
        }
    }

    fn field(
        &self,
        change: &FlowChange,
        sign: char,
        head: &str,
        rest: &[&str],
        owner: &mut String,
        out: &mut std::fmt::Formatter<'_>,
    ) -> std::fmt::Result {
        if owner != head {
            writeln!(out, "{}", self.painted('~', head))?;
            head.clone_into(owner);
        }
        let name = if rest.is_empty() { "value".to_owned() } else { rest.join(".") };
        let texts =
            (change.before.as_ref().and_then(Value::as_str), change.after.as_ref().and_then(Value::as_str));
        if let (Some(before), Some(after)) = texts
            && (before.contains('\n') || after.contains('\n'))
        {
            writeln!(out, "    {}", self.painted(sign, &name))?;
            let diff = TextDiff::from_lines(before, after);
            for line in diff.iter_all_changes() {
                let sign = match line.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => continue,
                };
                writeln!(out, "        {}", self.painted(sign, line.value().trim_end()))?;
            }
            return Ok(());
        }
        let port = change.part == FlowPart::Port && matches!(rest, ["inputs" | "outputs", _]);
        let line = match (&change.before, &change.after) {
            (Some(before), Some(after)) => format!("{name}: {} -> {}", brief(before), brief(after)),
            (None, Some(value)) | (Some(value), None) if port => {
                let word = value.get("type").and_then(Value::as_str).unwrap_or("no type");
                format!("{name}: {word}")
            }
            (None, Some(value)) | (Some(value), None) => format!("{name}: {}", brief(value)),
            (None, None) => name,
        };
        writeln!(out, "    {}", self.painted(sign, &line))
    }
}

/// What a node does and what goes in and out, for the line that names it.
fn described(node: &Value) -> String {
    let names = |list: &str| -> String {
        let ports = node.get(list).and_then(Value::as_array).unwrap_or_default();
        let names: Vec<&str> =
            ports.iter().filter_map(|port| port.get("name").and_then(Value::as_str)).collect();
        names.join(", ")
    };
    let op = node.pointer("/transform/spec/op").and_then(Value::as_str);
    let work = match (node.get("prompt"), op) {
        (Some(_), _) => "prompt",
        (None, Some(op)) => op,
        (None, None) => "code",
    };
    format!(" ({work}): {} -> {}", names("inputs"), names("outputs"))
}

fn brief(value: &Value) -> String {
    let text = match value {
        Value::String(text) if !text.is_empty() && !text.contains('\n') => text.clone(),
        other => stave_canon::python_spaced(other),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}
