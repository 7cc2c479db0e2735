//! Texts of a body that must stay as they are: reasoning that its provider signed, ciphertext, and bytes of files.
//!
//! The gate never edits one of these in place, because the provider would reject the request. Where it would take
//! something out of one, it refuses the request instead.

use stave_block::SensitiveMatch;

/// Why a text must stay as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seal {
    /// Readable text with a signature over it.
    Signed,
    /// Bytes in base64: signatures, ciphertext, images, documents and sound.
    Bytes,
}

/// What decides whether a member of an object is sealed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ObjectFacts<'b> {
    /// The value of `type`.
    pub(super) kind: &'b str,
    pub(super) has_media_type: bool,
}

/// Whether a key says what the bytes beside it are.
pub(super) fn is_media_type(key: &str) -> bool {
    matches!(key, "media_type" | "mimeType" | "mime_type" | "format")
}

/// The seal of a value by its own object. A tool's input that has a member `data` is no file.
pub(super) fn seal(key: &str, text: &str, object: ObjectFacts<'_>) -> Option<Seal> {
    match (key, object.kind) {
        ("thinking", "thinking") => Some(Seal::Signed),
        ("signature", "thinking") | ("data", "redacted_thinking") => Some(Seal::Bytes),
        // A document of type `text` says in plain words what it holds.
        ("data", kind)
            if (kind == "base64" || (kind != "text" && object.has_media_type)) && is_base64(text) =>
        {
            Some(Seal::Bytes)
        }
        ("thoughtSignature" | "thought_signature", _) => Some(Seal::Bytes),
        (key, _) if key.starts_with("encrypted_") => Some(Seal::Bytes),
        _ if is_data_url(text) => Some(Seal::Bytes),
        _ => None,
    }
}

/// What sealed bytes say when they are a text file. Images, sound and ciphertext are no text.
pub(super) fn file_text(text: &str) -> Option<String> {
    let bytes = text.split_once(DATA_URL_MARK).filter(|_| is_data_url(text)).map_or(text, |(_, bytes)| bytes);
    // The beginning distinguishes most files from texts, so that an image is not decoded as a whole.
    let head = bytes.get(..bytes.floor_char_boundary(HEAD_BYTES)).unwrap_or_default();
    if let Err(error) = std::str::from_utf8(&decoded(head)?)
        && error.error_len().is_some()
    {
        return None;
    }
    String::from_utf8(decoded(bytes)?).ok().filter(|text| !text.contains('\0'))
}

/// How much of a file is looked at first; a multiple of four digits.
const HEAD_BYTES: usize = 256;

/// The bytes of base64 in either alphabet, with or without padding and white space.
fn decoded(text: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    use base64::alphabet::STANDARD;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let digit = |byte: u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => byte,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(digit).collect();
    GeneralPurpose::new(&STANDARD, config).decode(digits).ok()
}

/// What comes before the bytes of a data URL.
const DATA_URL_MARK: &str = ";base64,";

/// How far into a text the head of a data URL can reach.
const LONGEST_HEAD: usize = 128;

fn is_data_url(text: &str) -> bool {
    let head = text.get(..text.floor_char_boundary(LONGEST_HEAD)).unwrap_or_default();
    head.starts_with("data:") && head.contains(DATA_URL_MARK)
}

fn is_base64(text: &str) -> bool {
    let is_digit =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    text.bytes().all(|byte| is_digit(byte) || byte.is_ascii_whitespace())
}

/// Whether random bytes in base64 look like this often enough to refuse a good request: a form with four fixed characters
/// is in one of ten ciphertexts or images of a megabyte. The table of rules marks these forms.
pub(super) fn is_chance(seal: Seal, finding: &SensitiveMatch<'_>, text: &str) -> bool {
    let found = text.get(finding.range.clone()).unwrap_or_default();
    let is_marked =
        ["sk-proj-", "sk-ant-", "sk-svcacct-", "github_pat_"].iter().any(|mark| found.starts_with(mark));
    let bytes = text.split_once(DATA_URL_MARK).filter(|_| is_data_url(text)).map_or(text, |(_, bytes)| bytes);
    let is_ciphertext = seal == Seal::Bytes && is_base64(bytes) && found.len() < bytes.len();
    is_ciphertext && finding.is_chance && !is_marked
}
