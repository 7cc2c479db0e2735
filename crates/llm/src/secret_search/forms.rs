//! What a secret may look like once somebody has encoded it.
//!
//! The plain texts of a secret are the secret, the secret reversed, as a string of JSON, and without the escapes that are
//! part of it. Each is looked for as it is; in hexadecimal digits, base64 (both alphabets) and base32, forwards and
//! reversed; and with any of these encoded once more in hexadecimal digits or base64. In UTF-16 of either byte order a secret is
//! looked for as it is and encoded once. Base64 and base32 are found at any place of a longer text that was encoded.

use std::collections::BTreeSet;

use stave_canon::Value;

use super::view::{as_seen, unescaped};
use super::{DISTINCT, SHORTEST};
use crate::Secret;

/// The shortest encoded form that is looked for: shorter ones would be found in ordinary words.
const SHORTEST_FORM: usize = 6;

/// Secrets beyond this length, such as keys in PEM, are looked for with one encoding only.
const LONGEST_NESTED: usize = 512;

/// The forms of some secrets, by the aspect of a text in which they are looked for.
#[derive(Default)]
pub(super) struct Forms {
    /// Found as they are written.
    pub(super) written: BTreeSet<Vec<u8>>,
    /// Found in either case in a text as it is seen.
    pub(super) seen: BTreeSet<Vec<u8>>,
    /// Found in the hexadecimal digits of a text.
    pub(super) digits: BTreeSet<Vec<u8>>,
}

impl Forms {
    pub(super) fn of(secrets: impl IntoIterator<Item = Secret>) -> Forms {
        let mut forms = Forms::default();
        for secret in secrets {
            let text = secret.expose();
            if text.len() >= SHORTEST {
                forms.add(text);
            }
        }
        forms
    }

    fn add(&mut self, secret: &str) {
        let is_short = as_seen(secret.as_bytes()).len() < DISTINCT;
        let quoted = Value::from(secret).to_string();
        let reversed: String = secret.chars().rev().collect();
        let once = unescaped(secret.as_bytes());
        let twice = unescaped(&once);
        let texts = [secret.as_bytes(), reversed.as_bytes(), quoted.trim_matches('"').as_bytes()];
        let is_nested = secret.len() <= LONGEST_NESTED;
        // What is left of a secret without its escapes can be too little to look for.
        let is_enough = |text: &&[u8]| as_seen(text).len() >= SHORTEST;
        let bare = [once.as_slice(), twice.as_slice()].into_iter().filter(is_enough);
        for text in texts.into_iter().chain(bare).collect::<BTreeSet<_>>() {
            self.insert(text.to_vec(), is_short);
            self.encode(text, is_short, is_nested && texts.contains(&text));
        }
        for units in [utf16(secret, u16::to_le_bytes), utf16(secret, u16::to_be_bytes)] {
            self.encode(&units, is_short, false);
            // Of a Latin text in UTF-16, the secret itself is seen. Of others there are bytes that are no text.
            self.insert(units, is_short || !secret.is_ascii());
        }
    }

    /// Adds the encodings of a text.
    fn encode(&mut self, text: &[u8], is_short: bool, is_nested: bool) {
        let hexadecimal = hexadecimal(text);
        self.digits.insert(hexadecimal.iter().rev().copied().collect());
        let others = in_groups(text);
        if is_nested {
            for once in std::iter::once(&hexadecimal).chain(&others) {
                self.digits.insert(self::hexadecimal(once));
                for twice in base64(once) {
                    self.insert(twice, is_short);
                }
            }
        }
        for once in others {
            self.insert(once.iter().rev().copied().collect(), is_short);
            self.insert(once, is_short);
        }
        self.digits.insert(hexadecimal);
    }

    fn insert(&mut self, form: Vec<u8>, is_short: bool) {
        if is_short {
            self.written.insert(form);
            return;
        }
        let seen = as_seen(&form);
        // What is seen of a form can be too little to look for.
        if seen.len() >= SHORTEST_FORM {
            self.seen.insert(seen);
        } else {
            self.written.insert(form);
        }
    }
}

fn utf16(text: &str, bytes: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

/// The encodings that write several bytes as a group of digits, wherever in a group the bytes begin.
fn in_groups(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut encoded = base64(bytes);
    for offset in 0..5 {
        encoded.push(core(bytes, offset, 5, b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"));
    }
    encoded.retain(|form| form.len() >= SHORTEST_FORM);
    encoded
}

fn base64(bytes: &[u8]) -> Vec<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut encoded = Vec::new();
    for offset in 0..3 {
        let standard = core(bytes, offset, 6, DIGITS);
        let url_safe = core(bytes, offset, 6, URL_SAFE);
        if url_safe != standard {
            encoded.push(url_safe);
        }
        encoded.push(standard);
    }
    encoded.retain(|form| form.len() >= SHORTEST_FORM);
    encoded
}

fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    core(bytes, 0, 4, b"0123456789abcdef")
}

/// The digits of so many bits each that `bytes` alone decide, when they begin at this offset of a group.
fn core(bytes: &[u8], offset: usize, width: u32, alphabet: &[u8]) -> Vec<u8> {
    let mask = (1_u32 << width) - 1;
    let mut digits = Vec::with_capacity(bytes.len() * 8 / width as usize + 1);
    // `offset` bytes of somebody else's come first; the digits that they have a part in are left out.
    let (mut bits, mut count) = (0_u32, 0_u32);
    let mut unknown = (offset * 8).div_ceil(width as usize);
    for byte in std::iter::repeat_n(&0, offset).chain(bytes) {
        bits = (bits << 8) | u32::from(*byte);
        count += 8;
        while count >= width {
            count -= width;
            let digit = alphabet.get(((bits >> count) & mask) as usize).copied().unwrap_or_default();
            if unknown > 0 {
                unknown -= 1;
            } else {
                digits.push(digit);
            }
        }
        bits &= (1 << count) - 1;
    }
    digits
}
