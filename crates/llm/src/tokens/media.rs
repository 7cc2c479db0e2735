//! Tokens of images, documents and sound, by the rules that providers publish.
//!
//! Invariant: the data of an image, a document or a sound is never counted as text, wherever in a request it stands, and
//! everything that counts tokens asks [`media_tokens`].

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stave_canon::Value;

use super::audio;
use super::family_of;

/// An image of unknown size: one of 1024 by 1024 pixels in high detail.
pub(super) const PER_IMAGE: u64 = 765;
/// A page of a document: its text and its picture.
const PER_PAGE: u64 = 3000;
/// The same for Gemini, which counts a page as one picture.
const PER_PAGE_OF_GEMINI: u64 = 258;
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
    let size = header.and_then(|bytes| size(&bytes));
    let unknown = if matches!(rule, Rule::Crops) { rule.tokens(1024, 1024) } else { PER_IMAGE };
    size.map_or(unknown, |(width, height)| rule.tokens(width, height))
}

/// The tokens of a document in base64.
pub(super) fn document(model: &str, data: &str) -> u64 {
    let bytes = STANDARD.decode(data).unwrap_or_default();
    let pages = match pages(&bytes) {
        0 => data.len() as u64 / 4 * 3 / BYTES_PER_PAGE + 1,
        pages => pages,
    };
    pages * per_page(model)
}

fn per_page(model: &str) -> u64 {
    if family_of(model) == "gemini" { PER_PAGE_OF_GEMINI } else { PER_PAGE }
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

/// The tokens of a part that is an image, a document or a sound.
fn part(model: &str, value: &Value) -> Option<u64> {
    let at = |path: &[&str]| {
        let found = path.iter().try_fold(value, |value, key| value.get(key))?;
        found.as_str().map(Cow::Borrowed)
    };
    media_tokens(model, &at)
}

/// The tokens of a part of a request that is an image, a document or a sound, by the provider's rules; `None` for every
/// other part, such as a document that is plain text. `at` reads the text at a path of the part: parts are values or
/// stand in a body that nobody parsed.
#[must_use]
pub fn media_tokens<'p>(model: &str, at: &dyn Fn(&[&str]) -> Option<Cow<'p, str>>) -> Option<u64> {
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| at(path));
    let Some(kind) = at(&["type"]) else { return media_of_type(model, at) };
    match kind.as_ref() {
        "image" | "image_url" | "input_image" | "computer_screenshot" => {
            let low = first(&[&["image_url", "detail"], &["detail"]]).as_deref() == Some("low");
            let address = first(&[&["image_url", "url"], &["image_url"]]);
            let inline = address.as_deref().and_then(inline_data);
            let own = first(&[&["source", "data"], &["data"]]);
            // A part of this type without any image is something else.
            let is_named = || address.is_some() || first(&[&["source", "type"], &["file_id"]]).is_some();
            match own.as_deref().or(inline) {
                Some(data) => Some(image(model, data, low)),
                None => is_named().then(|| image(model, "", low)),
            }
        }
        "document" | "file" | "input_file" => {
            // A document that is plain text is counted as text.
            let source = at(&["source", "type"]);
            if matches!(source.as_deref(), Some("text" | "content")) {
                return None;
            }
            let own = first(&[&["source", "data"], &["file", "file_data"], &["file_data"]]);
            let names: [&[&str]; 3] = [&["file", "file_id"], &["file_id"], &["file_url"]];
            let is_named = || source.is_some() || first(&names).is_some();
            match own.as_deref().map(|data| inline_data(data).unwrap_or(data)) {
                Some(data) => Some(document(model, data)),
                None => is_named().then_some(PER_REMOTE_DOCUMENT),
            }
        }
        "input_audio" | "audio" => {
            let own = first(&[&["input_audio", "data"], &["source", "data"], &["audio", "data"], &["data"]]);
            let format = first(&[
                &["input_audio", "format"],
                &["audio", "format"],
                &["source", "media_type"],
                &["mimeType"],
            ]);
            let is_named = || first(&[&["source", "type"], &["audio", "id"], &["file_id"]]).is_some();
            match own.as_deref().map(|data| inline_data(data).unwrap_or(data)) {
                Some(data) => Some(audio::sound(model, data, format.as_deref())),
                None => is_named().then(|| audio::remote(model)),
            }
        }
        _ => None,
    }
}

/// The same for a part that says its type as a media type only, as Gemini's do.
fn media_of_type<'p>(model: &str, at: &dyn Fn(&[&str]) -> Option<Cow<'p, str>>) -> Option<u64> {
    let first = |paths: &[[&str; 2]]| paths.iter().find_map(|path| at(path));
    let inline = [
        ["inlineData", "mimeType"],
        ["inlineData", "mime_type"],
        ["inline_data", "mimeType"],
        ["inline_data", "mime_type"],
    ];
    let named = [
        ["fileData", "mimeType"],
        ["fileData", "mime_type"],
        ["file_data", "mimeType"],
        ["file_data", "mime_type"],
    ];
    let data = first(&[["inlineData", "data"], ["inline_data", "data"]]);
    let data = data.as_deref();
    let media_type = if data.is_some() { first(&inline) } else { first(&named) }?;
    match media_type.split_once('/')? {
        ("image", _) => Some(image(model, data.unwrap_or_default(), false)),
        ("audio", _) => Some(
            data.map_or_else(|| audio::remote(model), |data| audio::sound(model, data, Some(&media_type))),
        ),
        ("video", _) => Some(audio::film(data)),
        (_, "pdf") => Some(data.map_or_else(|| per_page(model), |data| document(model, data))),
        _ => None,
    }
}

/// The base64 of a `data:` address.
fn inline_data(address: &str) -> Option<&str> {
    address.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data)
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
    /// Squares that are cut out of the image; one for a small image.
    Crops,
}

impl Rule {
    fn of(model: &str) -> Rule {
        let model = model.rsplit('/').next().unwrap_or(model);
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        if family_of(model) == "claude" {
            return Rule::Area;
        }
        if family_of(model) == "gemini" {
            return Rule::Crops;
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
            Rule::Crops if width <= 384 && height <= 384 => 258,
            Rule::Crops => {
                let side = (width.min(height) * 2 / 3).max(1);
                258 * width.div_ceil(side).min(64) * height.div_ceil(side).min(64)
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
            ("gemini-2.5-pro", 384, 300, 258),
            ("gemini-2.5-pro", 960, 540, 1548),
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
        assert_eq!(document("claude-opus-5", &pdf), 2 * PER_PAGE);
        assert_eq!(document("gemini-2.5-pro", &pdf), 2 * PER_PAGE_OF_GEMINI);
        assert_eq!(document("claude-opus-5", &STANDARD.encode([0; 120_000])), 3 * PER_PAGE);
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

    #[test]
    fn a_part_counts_by_what_it_carries_and_not_by_its_type_alone() {
        let data = STANDARD.encode([7; 300_000]);
        let pdf = STANDARD.encode([7; 300_000]);
        let tokens = |model: &str, part: &str| split(model, &stave_canon::parse(part).unwrap()).0;
        for (model, part, expected) in [
            (
                "gpt-4o",
                format!(r#"{{"type":"input_audio","input_audio":{{"data":"{data}","format":"pcm16"}}}}"#),
                63,
            ),
            (
                "gemini-2.5-pro",
                format!(r#"{{"inlineData":{{"mimeType":"application/pdf","data":"{pdf}"}}}}"#),
                7 * 258,
            ),
            (
                "gemini-2.5-pro",
                r#"{"fileData":{"mimeType":"image/png","fileUri":"https://a"}}"#.to_owned(),
                1032,
            ),
            (
                "claude-opus-5",
                format!(r#"{{"type":"image","data":"{}","mimeType":"image/png"}}"#, png(200, 200)),
                54,
            ),
            (
                "claude-opus-5",
                r#"{"type":"document","source":{"type":"url","url":"https://a"}}"#.to_owned(),
                PER_PAGE,
            ),
            ("claude-opus-5", r#"{"type":"file","path":"src/main.rs"}"#.to_owned(), 0),
            ("claude-opus-5", r#"{"type":"image"}"#.to_owned(), 0),
            ("claude-opus-5", r#"{"type":"audio","level":3}"#.to_owned(), 0),
        ] {
            assert_eq!(tokens(model, &part), expected, "{model} {}", &part[..40.min(part.len())]);
        }
    }
}
