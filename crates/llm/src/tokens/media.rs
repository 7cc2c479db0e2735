//! Tokens of images and documents, by the rules that providers publish.
//!
//! Invariant: the data of an image or a document is never counted as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stave_canon::Value;

use super::family_of;

/// An image of unknown size: one of 1024 by 1024 pixels in high detail.
pub(super) const PER_IMAGE: u64 = 765;
/// A page of a document: its text and its picture.
const PER_PAGE: u64 = 3000;
/// A document that is not here to be measured: one page.
pub(super) const PER_REMOTE_DOCUMENT: u64 = PER_PAGE;
/// Bytes of a page when the pages cannot be counted.
const BYTES_PER_PAGE: u64 = 50_000;
/// How much of an image is decoded to find its size.
const HEADER_BYTES: usize = 64 * 1024;

/// The tokens of an image in base64 for a model.
pub(super) fn image(model: &str, data: &str, low_detail: bool) -> u64 {
    let rule = Rule::of(model);
    if low_detail && let Rule::Tiles { base, .. } = rule {
        return base;
    }
    let end = data.len().min(HEADER_BYTES) / 4 * 4;
    let header = data.get(..end).and_then(|data| STANDARD.decode(data).ok());
    header.and_then(|bytes| size(&bytes)).map_or(PER_IMAGE, |(width, height)| rule.tokens(width, height))
}

/// The tokens of a document in base64.
pub(super) fn document(data: &str) -> u64 {
    let bytes = STANDARD.decode(data).unwrap_or_default();
    let pages = pages(&bytes);
    let length = data.len() as u64 / 4 * 3;
    if pages > 0 { pages * PER_PAGE } else { (length / BYTES_PER_PAGE + 1) * PER_PAGE }
}

/// Splits a part of a request, at any depth, into the tokens of its media and the part without their data.
pub(super) fn split(model: &str, value: &Value) -> (u64, Value) {
    match value {
        Value::Array(items) => {
            let mut tokens = 0;
            let rest = items.iter().map(|item| {
                let (own, rest) = split(model, item);
                tokens += own;
                rest
            });
            let rest = rest.collect::<Vec<Value>>();
            (tokens, rest.into())
        }
        Value::Object(object) => {
            if let Some(tokens) = part(model, value) {
                let kind = object.get("type").cloned().unwrap_or(Value::Null);
                return (tokens, Value::from_iter([("type", kind)]));
            }
            let mut tokens = 0;
            let rest = object.iter().map(|(key, member)| {
                let (own, rest) = split(model, member);
                tokens += own;
                (key.clone(), rest)
            });
            let rest: stave_canon::Object = rest.collect();
            (tokens, Value::Object(rest))
        }
        other => (0, other.clone()),
    }
}

/// The tokens of a part that is an image or a document.
fn part(model: &str, value: &Value) -> Option<u64> {
    let kind = value.get("type").and_then(Value::as_str)?;
    let at = |path: &str| value.pointer(path).and_then(Value::as_str);
    match kind {
        "image" | "image_url" | "input_image" | "computer_screenshot" => {
            let low = at("/image_url/detail").or_else(|| at("/detail")) == Some("low");
            let address = at("/image_url/url").or_else(|| at("/image_url"));
            let inline = address.and_then(|address| address.strip_prefix("data:")?.split_once(";base64,"));
            match at("/source/data").or(inline.map(|(_, data)| data)) {
                Some(data) => Some(image(model, data, low)),
                None => Some(image(model, "", low)),
            }
        }
        "document" | "file" | "input_file" => {
            // A document that is plain text is counted as text.
            if at("/source/type") == Some("text") || at("/source/type") == Some("content") {
                return None;
            }
            let inline = at("/file/file_data").or_else(|| at("/file_data"));
            let inline = inline.map(|data| data.split_once(";base64,").map_or(data, |(_, data)| data));
            Some(at("/source/data").or(inline).map_or(PER_REMOTE_DOCUMENT, document))
        }
        _ => None,
    }
}

/// How a model counts an image.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// Pixels by a divisor, after the image was scaled to fit.
    Area,
    /// Tiles of 512 pixels.
    Tiles { base: u64, tile: u64 },
    /// Patches of 32 pixels, by a factor in hundredths.
    Patches { factor: u64 },
}

impl Rule {
    fn of(model: &str) -> Rule {
        let model = model.rsplit('/').next().unwrap_or(model);
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        if family_of(model) == "claude" {
            return Rule::Area;
        }
        if begins(&["gpt-5-nano", "gpt-4.1-nano"]) {
            return Rule::Patches { factor: 246 };
        }
        if begins(&["gpt-5-mini", "gpt-4.1-mini"]) {
            return Rule::Patches { factor: 162 };
        }
        if begins(&["o4-mini"]) {
            return Rule::Patches { factor: 172 };
        }
        if begins(&["gpt-4o-mini"]) {
            return Rule::Tiles { base: 2833, tile: 5667 };
        }
        if begins(&["gpt-5"]) {
            return Rule::Tiles { base: 70, tile: 140 };
        }
        if begins(&["o1", "o3"]) {
            return Rule::Tiles { base: 75, tile: 150 };
        }
        Rule::Tiles { base: 85, tile: 170 }
    }

    fn tokens(self, width: u64, height: u64) -> u64 {
        let (width, height) = (width.max(1), height.max(1));
        match self {
            Rule::Area => {
                let (width, height) = fit(width, height, 1568);
                // About 1.15 million pixels are kept.
                (width * height).div_ceil(750).min(1600)
            }
            Rule::Tiles { base, tile } => {
                let (width, height) = fit(width, height, 2048);
                let shortest = width.min(height);
                let scaled = |side: u64| if shortest > 768 { (side * 768).div_ceil(shortest) } else { side };
                base + tile * scaled(width).div_ceil(512) * scaled(height).div_ceil(512)
            }
            Rule::Patches { factor } => {
                let patches = (width.div_ceil(32) * height.div_ceil(32)).min(1536);
                (patches * factor).div_ceil(100)
            }
        }
    }
}

/// A size scaled down so that no side is longer than `most`.
fn fit(width: u64, height: u64, most: u64) -> (u64, u64) {
    let longest = width.max(height);
    if longest <= most {
        return (width, height);
    }
    ((width * most).div_ceil(longest), (height * most).div_ceil(longest))
}

/// The width and the height of a PNG, GIF, JPEG or WebP by its first bytes.
fn size(bytes: &[u8]) -> Option<(u64, u64)> {
    let big = |at: usize, length: usize| {
        let bytes = bytes.get(at..at + length)?;
        Some(bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    let little = |at: usize, length: usize| {
        let bytes = bytes.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((big(16, 4)?, big(20, 4)?));
    }
    if bytes.starts_with(b"GIF8") {
        return Some((little(6, 2)?, little(8, 2)?));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return match bytes.get(12..16)? {
            b"VP8X" => Some((little(24, 3)? + 1, little(27, 3)? + 1)),
            b"VP8L" => {
                let bits = little(21, 4)?;
                Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            b"VP8 " => Some((little(26, 2)? & 0x3fff, little(28, 2)? & 0x3fff)),
            _ => None,
        };
    }
    if bytes.starts_with(b"\xff\xd8") {
        let mut at = 2;
        while bytes.get(at) == Some(&0xff) {
            let marker = *bytes.get(at + 1)?;
            // The frames of a JPEG have the size; the four others in this range are tables.
            if (0xc0..=0xcf).contains(&marker) && ![0xc4, 0xc8, 0xcc].contains(&marker) {
                return Some((big(at + 7, 2)?, big(at + 5, 2)?));
            }
            at += 2 + usize::try_from(big(at + 2, 2)?).ok()?;
        }
    }
    None
}

/// The pages of a PDF whose page objects are not compressed; 0 when none is seen.
fn pages(bytes: &[u8]) -> u64 {
    let mut count = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(rest) = rest.strip_prefix(b"/Type") else { continue };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        if let Some(after) = rest.strip_prefix(b"/Page")
            && !after.first().is_some_and(u8::is_ascii_alphabetic)
        {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend(std::iter::repeat_n(7, 100_000));
        STANDARD.encode(bytes)
    }

    #[test]
    fn images_are_counted_by_the_providers_examples() {
        for (model, width, height, tokens) in [
            ("claude-opus-5", 200, 200, 54),
            ("claude-opus-5", 1000, 1000, 1334),
            ("claude-opus-5", 8000, 8000, 1600),
            ("gpt-4o", 1024, 1024, 765),
            ("gpt-4o", 2048, 4096, 1105),
            ("gpt-4o-mini", 1024, 1024, 25_501),
            ("gpt-4.1-mini", 1024, 1024, 1659),
        ] {
            assert_eq!(image(model, &png(width, height), false), tokens, "{model} {width}x{height}");
        }
        assert_eq!(image("gpt-4o", &png(1024, 1024), true), 85);
        assert_eq!(image("gpt-4o", "bm90IGFuIGltYWdl", false), PER_IMAGE);
    }

    #[test]
    fn sizes_are_read_from_headers() {
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x10\x00\x20";
        assert_eq!(size(jpeg), Some((32, 16)));
        assert_eq!(size(b"GIF89a\x05\x00\x07\x00"), Some((5, 7)));
        assert_eq!(size(b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x09\0\0\x13\0\0"), Some((10, 20)));
        for broken in [&b"\xff\xd8\xff"[..], b"\x89PNG\r\n\x1a\n", b"RIFF", b"GIF8", b""] {
            assert_eq!(size(broken), None);
        }
    }

    #[test]
    fn pages_of_a_document_are_counted() {
        let pdf = STANDARD.encode("%PDF <</Type /Pages>> <</Type /Page>> <</Type/Page/X 1>>");
        assert_eq!(document(&pdf), 2 * PER_PAGE);
        assert_eq!(document(&STANDARD.encode([0; 120_000])), 3 * PER_PAGE);
    }

    #[test]
    fn media_are_found_at_any_depth_and_text_stays() {
        let data = png(200, 200);
        let value = format!(
            r#"{{"type":"tool_result","content":[{{"type":"text","text":"hi"}},{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}]}}"#
        );
        let (tokens, rest) = split("claude-opus-5", &stave_canon::parse(&value).unwrap());
        assert_eq!(tokens, 54);
        let rest = rest.to_string();
        assert!(rest.contains("hi") && rest.len() < 200, "{rest}");
    }
}
