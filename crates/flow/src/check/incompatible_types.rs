//! Edges connect types that fit.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::model::PortType;
use crate::types::connection;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for connected in &subject.edges {
        // A transform gives a value of any type, which only the run can judge.
        if !connected.edge.transform.is_absent() {
            continue;
        }
        let (Some(from), Some(to)) = (connected.origin.port(), connected.destination.port()) else {
            continue;
        };
        let (Some(from_type), Some(to_type)) = (&from.port_type, &to.port_type) else { continue };
        let Some(end) = &connected.edge.to else { continue };
        if connection(from_type.value, to_type.value).is_some() {
            continue;
        }
        let (from_word, to_word) = (from_type.word(), to_type.word());
        let message = format!(
            "`{}` is {} and `{end}` takes {}",
            from.name.as_str(),
            article(from_word),
            article(to_word)
        );
        let help = match bridge(from_type.value, to_type.value) {
            Some(expression) => {
                format!("add `transform: \"{expression}\"` to the edge, or change a port's type")
            }
            None => {
                "add a `transform` to the edge that makes the one from the other, or change a port's type"
                    .to_owned()
            }
        };
        diagnostics.push(
            Diagnostic::new(codes::INCOMPATIBLE_TYPES, end.span, message)
                .label(from_type.span, article(from_word))
                .label(to_type.span, article(to_word))
                .help(help),
        );
    }
}

fn article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// An expression that often does what was meant.
fn bridge(from: PortType, to: PortType) -> Option<&'static str> {
    match (from, to) {
        (PortType::String | PortType::Document, PortType::Number) => Some("float(value)"),
        (
            PortType::String | PortType::Number | PortType::Document | PortType::Object | PortType::Boolean,
            PortType::Array,
        ) => Some("[value]"),
        (PortType::Object, PortType::Table) => Some("[value]"),
        (PortType::Array, PortType::Object) => Some("value[0]"),
        (_, PortType::String | PortType::Document) => Some("str(value)"),
        _ => None,
    }
}
