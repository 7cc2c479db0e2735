//! A request field has one type, which all the ports it feeds can take.

use std::collections::HashMap;

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Span};

use super::subject::{Subject, listed};
use crate::graph::{Connected, EdgeSource};
use crate::model::PortType;
use crate::types::connection;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut edges: HashMap<&str, Vec<&Connected<'_>>> = HashMap::new();
    for connected in subject.edges.iter().filter(|connected| connected.edge.transform.is_absent()) {
        if let EdgeSource::Request(field) = connected.origin {
            edges.entry(field).or_default().push(connected);
        }
    }
    for field in subject.flow.context.fields() {
        let mut possible = PortType::ALL.to_vec();
        let mut fed: Vec<(PortType, Span)> = Vec::new();
        for connected in edges.remove(field.as_str()).unwrap_or_default() {
            let target = connected.destination.port().and_then(|port| port.port_type);
            let (Some(target), Some(end)) = (target, &connected.edge.to) else { continue };
            possible.retain(|from| connection(*from, target.value).is_some());
            fed.push((target.value, end.span));
            if possible.is_empty() {
                let words = listed(fed.iter().map(|(port_type, _)| port_type.word()));
                let message = format!(
                    "the request field `{}` feeds ports of the types {words}, which no value fits",
                    field.as_str()
                );
                let mut diagnostic = Diagnostic::new(codes::CONFLICTING_REQUEST_TYPES, end.span, message)
                    .help("give the ports one type, or add a `transform` to one of the edges");
                for (port_type, span) in fed.iter().rev().skip(1) {
                    diagnostic = diagnostic.label(*span, port_type.word());
                }
                diagnostics.push(diagnostic);
                break;
            }
        }
    }
}
