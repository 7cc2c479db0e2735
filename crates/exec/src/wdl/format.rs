//! The canonical layout of a workflow or policy: two spaces for each level, four below a list item, one
//! blank line where there were some. Comments stay where they are.

use stave_diag::{Diagnostic, SourceId};

use super::tree;

/// Lays a text out. It keeps its meaning: what a value is, trailing spaces included, is never changed.
pub fn format(source: SourceId, text: &str) -> Result<String, Box<Diagnostic>> {
    tree::parse(source, text)?;
    let mut laid_out = String::with_capacity(text.len());
    let mut levels: Vec<Level> = Vec::new();
    // Comments and blank lines wait for the line they belong to.
    let mut waiting: Vec<&str> = Vec::new();
    for line in super::lines::all(text) {
        let content = line.trim_start_matches([' ', '\t']);
        let trimmed = content.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            waiting.push(trimmed);
            continue;
        }
        let old = line.len() - content.len();
        while levels.last().is_some_and(|level| level.old > old) {
            levels.pop();
        }
        if levels.last().is_none_or(|level| level.old < old) {
            let new = levels.last().map_or(0, |above| above.new + if above.is_item { 4 } else { 2 });
            levels.push(Level { old, new, is_item: false });
        }
        let Some(level) = levels.last_mut() else { continue };
        level.is_item = content.starts_with("- ") || trimmed == "-";
        let indent = level.new;
        flush(&mut waiting, indent, &mut laid_out);
        laid_out.push_str(&" ".repeat(indent));
        laid_out.push_str(content);
        laid_out.push('\n');
    }
    while waiting.last() == Some(&"") {
        waiting.pop();
    }
    flush(&mut waiting, 0, &mut laid_out);
    Ok(laid_out)
}

struct Level {
    /// The indentation in the text, and in the layout.
    old: usize,
    new: usize,
    is_item: bool,
}

fn flush(waiting: &mut Vec<&str>, indent: usize, laid_out: &mut String) {
    for line in waiting.drain(..) {
        let is_second_blank = line.is_empty() && (laid_out.is_empty() || laid_out.ends_with("\n\n"));
        if !is_second_blank {
            if !line.is_empty() {
                laid_out.push_str(&" ".repeat(indent));
                laid_out.push_str(line);
            }
            laid_out.push('\n');
        }
    }
}
