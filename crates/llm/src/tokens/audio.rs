//! Tokens of sound and film: their seconds, at the rate that the provider publishes.
//!
//! A WAV says how long it is. Of every other form the length is estimated from its bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::family_of;

/// Tokens of ten seconds of sound: OpenAI counts one for 100 ms, Gemini 32 for a second.
const PER_TEN_SECONDS: u64 = 100;
const PER_TEN_SECONDS_OF_GEMINI: u64 = 320;
/// Tokens of a second of film, with its sound, as Gemini counts it.
const PER_SECOND_OF_FILM: u64 = 300;

/// Bytes of a second of sound that is compressed, at 64 kbit/s.
const COMPRESSED: u64 = 8_000;
/// The same without compression: OpenAI's `pcm16` has 24,000 samples of two bytes.
const PCM16: u64 = 48_000;
/// The same of film, at 2 Mbit/s.
const FILM: u64 = 250_000;
/// Seconds that are counted for what is not here to be measured.
const REMOTE: u64 = 60;

/// How much of a sound is decoded to find its length.
const HEADER_BYTES: usize = 4096;

/// The tokens of a sound in base64. `format` is a word such as `wav` or a media type.
pub(super) fn sound(model: &str, data: &str, format: Option<&str>) -> u64 {
    let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count() as u64;
    let length = (data.len() as u64 / 4 * 3).saturating_sub(padding);
    let end = data.len().min(HEADER_BYTES) / 4 * 4;
    let header = data.get(..end).and_then(|data| STANDARD.decode(data).ok()).unwrap_or_default();
    let (bytes, per_second) = wav(&header, length).unwrap_or_else(|| {
        let is_plain = format.is_some_and(|format| ["pcm", "l16"].iter().any(|word| format.contains(word)));
        (length, if is_plain { PCM16 } else { COMPRESSED })
    });
    (bytes * per_ten_seconds(model)).div_ceil(10 * per_second)
}

/// The tokens of a sound that is named instead of sent.
pub(super) fn remote(model: &str) -> u64 {
    REMOTE * per_ten_seconds(model) / 10
}

/// The tokens of a film in base64, or of one that is named.
pub(super) fn film(data: Option<&str>) -> u64 {
    data.map_or(REMOTE, |data| (data.len() as u64 / 4 * 3).div_ceil(FILM)) * PER_SECOND_OF_FILM
}

/// What a model counts that publishes no rate is taken for the higher one.
fn per_ten_seconds(model: &str) -> u64 {
    if family_of(model) == "gpt" { PER_TEN_SECONDS } else { PER_TEN_SECONDS_OF_GEMINI }
}

/// The bytes of the samples of a WAV and those of a second, by its first bytes. `length` is that of the whole file: a
/// header that says more than there is does not count.
fn wav(bytes: &[u8], length: u64) -> Option<(u64, u64)> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if !bytes.starts_with(b"RIFF") || bytes.get(8..12) != Some(b"WAVE") {
        return None;
    }
    let (mut at, mut per_second) = (12_usize, 0);
    loop {
        let size = number(at + 4)?;
        match bytes.get(at..at + 4)? {
            b"fmt " => per_second = u64::from(number(at + 16)?),
            b"data" if per_second > 0 => {
                return Some((u64::from(size).min(length.saturating_sub(at as u64 + 8)), per_second));
            }
            _ => {}
        }
        // Chunks begin at even bytes.
        let size = usize::try_from(size).ok()?;
        at = at.checked_add(8)?.checked_add(size)?.checked_add(size % 2)?;
        if at > HEADER_BYTES {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(per_second: u32, seconds: u32) -> Vec<u8> {
        let mut bytes = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend(16_000_u32.to_le_bytes());
        bytes.extend(per_second.to_le_bytes());
        bytes.extend(b"\x02\0\x10\0data");
        bytes.extend((per_second * seconds).to_le_bytes());
        bytes.extend(std::iter::repeat_n(7, (per_second * seconds) as usize));
        bytes
    }

    #[test]
    fn a_wav_counts_by_its_seconds() {
        let data = STANDARD.encode(file(32_000, 10));
        assert_eq!(sound("gpt-4o-audio-preview", &data, Some("wav")), 100);
        assert_eq!(sound("gemini-2.5-pro", &data, Some("audio/wav")), 320);
        assert_eq!(sound("another", &data, None), 320);
    }

    #[test]
    fn what_does_not_say_its_length_counts_by_its_bytes() {
        let data = STANDARD.encode(vec![7; 96_000]);
        assert_eq!(sound("gpt-4o", &data, Some("mp3")), 120);
        assert_eq!(sound("gpt-4o", &data, Some("pcm16")), 20);
        assert_eq!(remote("gpt-4o"), 600);
    }

    #[test]
    fn a_header_that_lies_or_breaks_off_counts_no_more_than_is_there() {
        let mut long = file(32_000, 1);
        let at = long.len() - 32_000 - 4;
        long[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(sound("gpt-4o", &STANDARD.encode(&long), Some("wav")), 10);
        for length in 0..60 {
            assert_eq!(wav(&file(32_000, 1)[..length.min(50)], 50), None);
        }
        assert_eq!(sound("gpt-4o", "not base64", None), 1);
    }
}
