//! Rust text without what is not code, so that a rule by text is not misled by prose.

use std::iter::Peekable;
use std::str::Chars;

/// The text with comments and the contents of literals left out, and with test modules left out. Line
/// feeds stay, so line numbers do too.
pub(crate) fn code_outside_tests(text: &str) -> String {
    without_tests(&without_prose(text))
}

fn without_prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek()) {
            ('/', Some('/')) => {
                skip_while(&mut rest, |next| next != '\n');
            }
            ('/', Some('*')) => skip_block_comment(&mut rest, &mut out),
            ('"', _) => skip_text(&mut rest, &mut out),
            ('r', Some('"' | '#')) if !ends_in_word(&out) => skip_raw_text(&mut rest, &mut out),
            ('\'', _) => skip_character(&mut rest, &mut out),
            _ => out.push(character),
        }
    }
    out
}

fn ends_in_word(text: &str) -> bool {
    text.ends_with(|last: char| last.is_alphanumeric() || last == '_') && !text.ends_with('b')
}

fn skip_while(rest: &mut Peekable<Chars<'_>>, wanted: impl Fn(char) -> bool) -> usize {
    let mut count = 0;
    while rest.next_if(|next| wanted(*next)).is_some() {
        count += 1;
    }
    count
}

fn skip_block_comment(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut depth = 1;
    rest.next();
    while depth > 0 {
        match (rest.next(), rest.peek()) {
            (Some('*'), Some('/')) => {
                rest.next();
                depth -= 1;
            }
            (Some('/'), Some('*')) => {
                rest.next();
                depth += 1;
            }
            (Some('\n'), _) => out.push('\n'),
            (Some(_), _) => {}
            (None, _) => return,
        }
    }
}

fn skip_text(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push_str("\"\"");
    while let Some(character) = rest.next() {
        match character {
            '"' => return,
            '\\' if rest.next() == Some('\n') => out.push('\n'),
            '\n' => out.push('\n'),
            _ => {}
        }
    }
}

fn skip_raw_text(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let hashes = skip_while(rest, |next| next == '#');
    if rest.next_if_eq(&'"').is_none() {
        // A raw identifier, such as `r#type`.
        out.push_str("r#");
        return;
    }
    out.push_str("\"\"");
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                let mut closing = 0;
                while closing < hashes && rest.next_if_eq(&'#').is_some() {
                    closing += 1;
                }
                if closing == hashes {
                    return;
                }
            }
            '\n' => out.push('\n'),
            _ => {}
        }
    }
}

/// A character literal is left out; a lifetime stays.
fn skip_character(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut ahead = rest.clone();
    match (ahead.next(), ahead.next()) {
        (Some('\\'), Some(_)) => {
            rest.next();
            rest.next();
            skip_while(rest, |next| next != '\'' && next != '\n');
            rest.next();
        }
        (Some(_), Some('\'')) => {
            rest.next();
            rest.next();
        }
        _ => out.push('\''),
    }
}

/// Leaves out each item below a test attribute, up to its closing brace or semicolon.
fn without_tests(code: &str) -> String {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some((before, after)) = rest.split_once(ATTRIBUTE) {
        out.push_str(before);
        let mut depth = 0_usize;
        let end = after.char_indices().find_map(|(index, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0 && matches!(character, '}' | ';')).then_some(index + 1)
        });
        let (item, next) = after.split_at(end.unwrap_or(after.len()));
        out.extend(item.chars().filter(|character| *character == '\n'));
        rest = next;
    }
    out.push_str(rest);
    out
}

#[test]
fn prose_and_literals_are_left_out() {
    let text = "a // std::fs\nb /* std::fs /* deep */\n */ c \"std::fs \\\" // x\" d r#\"std::fs \" \"# e '\"' 'x f\n";
    assert_eq!(code_outside_tests(text), "a \nb \n c \"\" d \"\" e  'x f\n");
}

#[test]
fn raw_identifiers_stay() {
    assert_eq!(code_outside_tests("r#type other"), "r#type other");
}

#[test]
fn test_modules_are_left_out_and_what_follows_them_is_not() {
    let text = "one\n#[cfg(test)]\nmod tests {\n  fn f() { '}'; }\n}\ntwo\n#[cfg(test)]\nmod more;\nthree\n";
    assert_eq!(code_outside_tests(text), "one\n\n\n\n\ntwo\n\n\nthree\n");
}
