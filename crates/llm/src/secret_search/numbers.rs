//! Bytes that are written as numbers: hexadecimal digits with anything between them, and lists of byte values.
//!
//! Only what could hold a form is read: a run of enough digits or values. A brace ends a run, so that the end of an event
//! of a stream never looks like a run that continues.

use super::view::{Extent, Sink};

/// Separates runs. It is part of no form.
const BREAK: &[u8] = &[0xff];

/// The digits of the shortest secret.
const FEWEST_DIGITS: usize = 2 * super::SHORTEST;

/// The values of the shortest secret.
const FEWEST_VALUES: usize = super::SHORTEST;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    /// May be between two digits. `x` and `u` are part of `0x41`, `\x41` and `U+0041`.
    Between,
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Between; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => Class::Digit,
            b'x' | b'X' | b'u' | b'U' => Class::Between,
            b'a'..=b'z' | b'A'..=b'Z' | b'{' | b'}' | 0xff => Class::Other,
            _ => Class::Between,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

fn class(byte: u8) -> Class {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Other)
}

/// Reads runs of hexadecimal digits without what is between the digits.
pub(super) fn digits<S: Sink>(input: &[u8], extent: Extent, sink: &mut S) -> usize {
    let mut at = 0;
    while let Some(rest) = input.get(at..) {
        let Some(first) = rest.iter().position(|byte| class(*byte) == Class::Digit) else { break };
        at += first;
        let run = input.get(at..).unwrap_or_default();
        let mut count = 0;
        let length = run.iter().position(|byte| {
            let class = class(*byte);
            count += usize::from(class == Class::Digit);
            class == Class::Other
        });
        let goes_on = length.is_none() && extent == Extent::Open;
        let end = at + length.unwrap_or(run.len());
        if goes_on || count >= FEWEST_DIGITS {
            if let Some(cut) = put_digits(input, at..end, goes_on, sink) {
                return cut;
            }
            if !goes_on {
                sink.put(BREAK, end..end);
            }
        }
        at = end;
    }
    input.len()
}

/// Gives the place of a `0` at the end, where an `x` may follow.
fn put_digits<S: Sink>(
    input: &[u8],
    run: std::ops::Range<usize>,
    goes_on: bool,
    sink: &mut S,
) -> Option<usize> {
    let mut is_after_digit = false;
    for at in run.clone() {
        let Some(byte) = input.get(at) else { break };
        let is_digit = class(*byte) == Class::Digit;
        if *byte == b'0' && !is_after_digit {
            match input.get(at + 1) {
                Some(b'x' | b'X') => continue,
                None if goes_on => return Some(at),
                _ => {}
            }
        }
        if is_digit {
            sink.put(&[byte.to_ascii_lowercase()], at..at + 1);
        }
        is_after_digit = is_digit;
    }
    None
}

/// What a list of byte values is made of.
enum Token {
    Value(u8, usize),
    /// Something between two values: `"12":` is the name of a member.
    Between(usize),
    /// What more text could make a longer value, or a name, of.
    Cut,
    End,
}

/// Reads runs of byte values, as in `[115,107]`, `115 107` and `{"0":115,"1":107}`.
pub(super) fn byte_values<S: Sink>(input: &[u8], extent: Extent, sink: &mut S) -> usize {
    let mut at = 0;
    while let Some(rest) = input.get(at..) {
        let Some(first) = rest.iter().position(u8::is_ascii_digit) else { break };
        at += first;
        if is_in_word(input, at) {
            at += 1;
            continue;
        }
        // The quote of a name belongs to it.
        let start = if at > 0 && input.get(at - 1) == Some(&b'"') { at - 1 } else { at };
        let (end, count) = run_of_values(input, start, extent);
        if count >= FEWEST_VALUES || (extent == Extent::Open && end == input.len()) {
            let mut next = start;
            while next < end {
                match token(input, next) {
                    Token::Value(value, length) => {
                        sink.put(&[value], next..next + length);
                        next += length;
                    }
                    Token::Between(length) => next += length,
                    Token::Cut if extent == Extent::Open => return next,
                    Token::Cut => match value_at(input, next) {
                        Some((value, length)) => {
                            sink.put(&[value], next..next + length);
                            next += length;
                        }
                        None => next += 1,
                    },
                    Token::End => break,
                }
            }
            if !(extent == Extent::Open && end == input.len()) {
                sink.put(BREAK, end..end);
            }
        }
        at = end.max(at + 1);
    }
    input.len()
}

/// Where a run of values ends, and how many it has.
fn run_of_values(input: &[u8], start: usize, extent: Extent) -> (usize, usize) {
    let (mut at, mut count) = (start, 0);
    while at < input.len() {
        match token(input, at) {
            Token::Value(_, length) => {
                count += 1;
                at += length;
            }
            Token::Between(length) => at += length,
            Token::Cut if extent == Extent::Open => return (input.len(), count),
            Token::Cut => match value_at(input, at) {
                Some((_, length)) => {
                    count += 1;
                    at += length;
                }
                None => at += 1,
            },
            Token::End => break,
        }
    }
    (at, count)
}

fn is_in_word(input: &[u8], at: usize) -> bool {
    at > 0 && input.get(at - 1).is_some_and(u8::is_ascii_alphanumeric)
}

fn value_at(input: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = input.get(at..)?;
    let length = rest.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let digits = std::str::from_utf8(rest.get(..length)?).ok()?;
    Some((digits.parse().ok()?, length)).filter(|_| length <= 3)
}

fn token(input: &[u8], at: usize) -> Token {
    match input.get(at..).unwrap_or_default() {
        [b'"', digits @ ..] => {
            let count = digits.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
            match digits.get(count..).unwrap_or_default() {
                [b'"', b':', ..] if count > 0 => Token::Between(count + 3),
                [] | [b'"'] if count > 0 => Token::Cut,
                _ => Token::Between(1),
            }
        }
        [b'0'..=b'9', ..] => match value_at(input, at) {
            Some((value, length)) => match input.get(at + length) {
                None => Token::Cut,
                Some(next) if next.is_ascii_alphanumeric() => Token::End,
                Some(_) => Token::Value(value, length),
            },
            None => Token::End,
        },
        [byte, ..] if byte.is_ascii_alphabetic() || matches!(byte, b'{' | b'}' | 0xff) => Token::End,
        [_, ..] => Token::Between(1),
        [] => Token::End,
    }
}
