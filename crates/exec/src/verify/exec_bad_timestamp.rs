//! Rule 7: `metadata.generated_at` is an RFC 3339 timestamp in UTC.

use stave_canon::{Pointer, Timestamp, Value};
use stave_diag::codes::exec as codes;

use crate::DocumentFault;

pub(crate) fn verify(document: &Value, faults: &mut Vec<DocumentFault>) {
    let text =
        document.get("metadata").and_then(|metadata| metadata.get("generated_at")).and_then(Value::as_str);
    if let Some(text) = text.filter(|text| !text.is_empty() && !is_utc_timestamp(text)) {
        let fault = DocumentFault::new(
            codes::EXEC_BAD_TIMESTAMP,
            Pointer::root().key("metadata").key("generated_at"),
            format!("{text:?} is not an RFC 3339 UTC timestamp"),
        );
        faults.push(fault.help("write it like 2024-06-30T18:25:43Z"));
    }
}

/// RFC 3339 allows a space or a lower-case letter between date and time and any fraction; the calendar
/// library accepts more forms than that, so the shape is checked here and the calendar there.
fn is_utc_timestamp(text: &str) -> bool {
    let Some((time, zone)) = text.split_at_checked(19) else { return false };
    let shape = time.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        10 => matches!(byte, b'T' | b't' | b' '),
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let zone = match zone.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => zone,
    };
    let utc = matches!(zone, "Z" | "z" | "+00:00" | "-00:00");
    let calendar = || format!("{}T{}Z", &time[..10], &time[11..]).parse::<Timestamp>().is_ok();
    shape && utc && calendar()
}

#[cfg(test)]
mod tests {
    use super::is_utc_timestamp;

    #[test]
    fn only_rfc_3339_timestamps_in_utc_pass() {
        for good in [
            "2024-06-30T18:25:43Z",
            "2024-06-30 18:25:43.511Z",
            "2024-06-30t18:25:43z",
            "2024-02-29T00:00:00+00:00",
            "2024-06-30T18:25:43.123456789123Z",
        ] {
            assert!(is_utc_timestamp(good), "{good}");
        }
        for bad in [
            "",
            "2024-06-30",
            "2024-06-30T18:25:43",
            "2024-06-30T18:25:43+02:00",
            "2024-02-30T18:25:43Z",
            "2024-06-30T24:25:43Z",
            "2024-06-30T18:25:43.Z",
            "2024-06-30T18:25:43Zé",
            "20240630T182543Z00000",
            "é024-06-30T18:25:43Z",
        ] {
            assert!(!is_utc_timestamp(bad), "{bad}");
        }
    }
}
