//! Values of a deployment that go to Kubernetes or into a process are ones that these accept.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::subject::Subject;
use crate::model::{ContextSource, Kserve, Text};

/// The longest name of a namespace.
const LONGEST_NAMESPACE: usize = 63;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(deployment) = subject.flow.deployment.as_ref() else { return };
    if let Some(kserve) = &deployment.kserve {
        kubernetes(kserve, diagnostics);
    }
    for (field, source) in deployment.context.iter().flat_map(|context| &context.fields) {
        let (what, name, is_fine, help) = match &source.value {
            ContextSource::Environment(name) => {
                let help = "a variable has letters, digits and `_`, and does not begin with a digit";
                ("environment variable", name, is_variable(name), help)
            }
            ContextSource::Header(name) => {
                let help = "a header's name has letters, digits and `-`, such as `x-user`";
                ("header", name, is_header(name), help)
            }
            ContextSource::Constant(_) => continue,
        };
        if !is_fine {
            let message = format!("`{field}` comes from {name:?}, which is no name of a{}", article(what));
            diagnostics.push(invalid(source.span, message).help(help));
        }
    }
}

fn article(what: &str) -> String {
    let vowel = what.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {what}", if vowel { "n" } else { "" })
}

fn invalid(span: Span, message: String) -> Diagnostic {
    Diagnostic::new(codes::INVALID_DEPLOYMENT_VALUE, span, message)
}

fn kubernetes(kserve: &Kserve, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(namespace) = kserve.namespace.as_ref().filter(|namespace| !is_label(namespace.as_str())) {
        let message = format!("{:?} is no name of a namespace", namespace.as_str());
        let help = "a namespace has up to 63 small letters, digits and `-`, and no `-` at an end";
        diagnostics.push(invalid(namespace.span, message).help(help));
    }
    let Some(resources) = &kserve.resources else { return };
    for (what, text) in [("cpu", &resources.cpu), ("memory", &resources.memory)] {
        if let Some(text) = text.as_ref().filter(|text| Quantity::read(text.as_str()).is_none()) {
            diagnostics.push(no_quantity(what, text));
        }
    }
    let Some(gpu) = &resources.gpu else { return };
    match Quantity::read(gpu.as_str()) {
        None => diagnostics.push(no_quantity("gpu", gpu)),
        Some(quantity) if !quantity.is_whole() => {
            let message = format!("`gpu` is {:?}, and Kubernetes gives a pod whole devices", gpu.as_str());
            diagnostics.push(invalid(gpu.span, message).help("write a whole number, such as \"1\""));
        }
        Some(_) => {}
    }
}

fn no_quantity(what: &str, text: &Text) -> Diagnostic {
    let message = format!("`{what}` is {:?}, which is no quantity of Kubernetes", text.as_str());
    invalid(text.span, message)
        .help("write a number with an optional suffix, such as \"500m\", \"1\" or \"2Gi\"")
}

/// A label of RFC 1123.
fn is_label(text: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= LONGEST_NAMESPACE
        && bytes.first().is_some_and(is_end)
        && bytes.last().is_some_and(is_end)
        && bytes.iter().all(|byte| is_end(byte) || *byte == b'-')
}

fn is_variable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A token of RFC 9110.
fn is_header(name: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

/// An amount as Kubernetes writes it: a decimal number that is not negative, with a suffix or an exponent.
#[derive(Debug)]
struct Quantity {
    /// Of the number, without the point and without zeros at the end.
    digits: String,
    /// The power of ten that the digits are multiplied with. Powers of two make no fraction of ten whole that is written.
    exponent: i32,
}

impl Quantity {
    fn read(text: &str) -> Option<Quantity> {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        let end = unsigned.find(|next: char| !next.is_ascii_digit() && next != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at_checked(end)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return None;
        }
        let power = match suffix {
            "n" => -9,
            "u" => -6,
            "m" => -3,
            "" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => 0,
            "k" => 3,
            "M" => 6,
            "G" => 9,
            "T" => 12,
            "P" => 15,
            "E" => 18,
            _ => exponent(suffix)?,
        };
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let zeros = i32::try_from(all.len() - digits.len()).ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Quantity {
            digits: digits.trim_start_matches('0').to_owned(),
            exponent: power.checked_add(zeros)?.checked_sub(places)?,
        })
    }

    fn is_whole(&self) -> bool {
        self.digits.is_empty() || self.exponent >= 0
    }
}

/// `e3` or `E-3`.
fn exponent(suffix: &str) -> Option<i32> {
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for fine in ["1", "500m", "0.5", "1e3", "1E-2", "2Gi", "1.5Gi", ".5", "1.", "+2", "1E", "100u", "0"] {
            assert!(Quantity::read(fine).is_some(), "{fine}");
        }
        for wrong in ["", "a lot", "1 Gi", "-1", "1gi", "1e", "1.2.3", "Gi", ".", "1e3Gi", "1K", "0x10"] {
            assert!(Quantity::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_device_is_whole() {
        let is_whole = |text| Quantity::read(text).is_some_and(|quantity| quantity.is_whole());
        assert!(["0", "1", "2.0", "1e1", "1000m", "0.001k"].into_iter().all(is_whole));
        assert!(!["0.5", "500m", "1e-1", "1u"].into_iter().any(is_whole));
    }

    #[test]
    fn names_are_held_to_their_grammar() {
        assert!(["agents", "a-1", "1a"].into_iter().all(is_label));
        assert!(
            !["", "Bad_Namespace!", "-a", "a-", "a.b"].into_iter().any(is_label)
                && !is_label(&"a".repeat(64))
        );
        assert!(is_variable("REGION_1") && !is_variable("A B") && !is_variable("1A") && !is_variable(""));
        assert!(is_header("x-user") && !is_header("bad header") && !is_header(""));
    }
}
