//! What an end of an edge can be connected with, and why not.

use std::collections::HashSet;

use stave_diag::{SourceId, Span};
use stave_flow::CheckOptions;
use stave_flow::edit::{EditError, EditRequest, FlowEdit, apply};
use stave_flow::graph::{self, Connected, EdgeSource, EdgeTarget};
use stave_flow::model::{Endpoint, Flow, INPUT, OUTPUT, Port, PortType, Spanned};
use stave_flow::types::connection;

use super::Studio;
use super::request::TextCall;
use crate::api::Cast;
use crate::api::text_types::{Connectable, ConnectableEnd, Source, Target};
use crate::handlers::Call;
use crate::problem::Problem;

pub(super) async fn connectable(call: Call<'_>, studio: &Studio) -> Result<Connectable, Problem> {
    let call = TextCall::<ConnectableEnd>::read(call, studio).await?;
    let answer = call.work(studio, |call, options, _| {
        let read = stave_flow::parse(SourceId(0), &call.text);
        let flow = read.flow.ok_or_else(|| Problem::bad_request("the text is not a flow"))?;
        let ends = Ends { connected: graph::connected(&flow), flow: &flow };
        let targets = |targets| Connectable { targets: Some(targets), sources: None };
        match (call.body.from.as_deref(), call.body.to.as_deref()) {
            (Some(from), Some(to)) => {
                let answer = ends.tried(&call.text, from, to, &options);
                Ok(targets(vec![answer.target(to.to_owned())]))
            }
            (Some(from), None) => Ok(targets(ends.targets(from)?)),
            (None, Some(to)) => Ok(Connectable { targets: None, sources: Some(ends.sources(to)?) }),
            (None, None) => Err(Problem::bad_request("`from` or `to` must name an end, as `node.port`")),
        }
    });
    answer.await?
}

/// Whether two ends can be connected.
struct Answer {
    cast: Cast,
    /// Why not; or, when they can, what is worth knowing.
    reason: Option<String>,
    is_allowed: bool,
}

impl Answer {
    fn refused(reason: impl Into<String>) -> Answer {
        Answer { cast: Cast::None, reason: Some(reason.into()), is_allowed: false }
    }

    fn target(self, to: String) -> Target {
        Target { to, allowed: self.is_allowed, cast: self.cast, reason: self.reason.into() }
    }

    fn source(self, from: String) -> Source {
        Source { from, allowed: self.is_allowed, cast: self.cast, reason: self.reason.into() }
    }
}

struct Ends<'f> {
    flow: &'f Flow,
    connected: Vec<Connected<'f>>,
}

impl<'f> Ends<'f> {
    /// Every end that an edge from here could have.
    fn targets(&self, from: &str) -> Result<Vec<Target>, Problem> {
        let endpoint = endpoint(from);
        let origin = graph::origin(self.flow, &endpoint)
            .map_err(|_| Problem::bad_request(format!("`{from}` is not an output of the flow")))?;
        let before = origin.node().map(|node| self.leading_to(node.id.as_str())).unwrap_or_default();
        let mut answers = Vec::new();
        for node in self.flow.nodes.values() {
            for port in &node.inputs {
                let id = node.id.as_str();
                let answer = self.judge(&origin, id, port, before.contains(id));
                answers.push(answer.target(format!("{id}.{}", port.name.as_str())));
            }
        }
        for (end, answer) in self.response() {
            answers.push(answer.target(end));
        }
        Ok(answers)
    }

    /// Every end that an edge to here could have.
    fn sources(&self, to: &str) -> Result<Vec<Source>, Problem> {
        let endpoint = endpoint(to);
        let destination = graph::destination(self.flow, &endpoint)
            .map_err(|_| Problem::bad_request(format!("`{to}` is not an input of the flow")))?;
        let mut origins: Vec<(String, EdgeSource<'_>)> = Vec::new();
        for field in self.flow.context.fields() {
            origins.push((format!("{INPUT}.{}", field.as_str()), EdgeSource::Request(field.as_str())));
        }
        for node in self.flow.nodes.values() {
            let name = |port: &Port| format!("{}.{}", node.id.as_str(), port.name.as_str());
            origins.extend(node.outputs.iter().map(|port| (name(port), EdgeSource::Output(node, port))));
            origins.extend(node.error.iter().map(|port| (name(port), EdgeSource::Error(node, port))));
        }
        let answers = origins.into_iter().map(|(name, origin)| {
            let answer = match destination {
                EdgeTarget::Input(node, port) => {
                    let id = node.id.as_str();
                    let is_before =
                        origin.node().is_some_and(|from| self.leading_to(from.id.as_str()).contains(id));
                    self.judge(&origin, id, port, is_before)
                }
                EdgeTarget::Response | EdgeTarget::ResponseField(_) => {
                    Answer { cast: Cast::None, reason: None, is_allowed: true }
                }
            };
            answer.source(name)
        });
        Ok(answers.collect())
    }

    /// `is_before`: the target leads to the origin already, or is it.
    fn judge(&self, origin: &EdgeSource<'_>, node: &str, port: &Port, is_before: bool) -> Answer {
        if origin.node().is_some_and(|from| from.id.as_str() == node) {
            return Answer::refused("a node cannot feed itself");
        }
        if is_before {
            return Answer::refused(format!("it would close a circle: `{node}` leads there already"));
        }
        let Some(target) = port.port_type.map(|kind| kind.value) else {
            return Answer { cast: Cast::None, reason: None, is_allowed: true };
        };
        let cast = match origin.port() {
            Some(from) => match from.port_type.map(|kind| kind.value) {
                Some(kind) => connection(kind, target).map(Cast::of).ok_or(kind),
                None => Ok(Cast::None),
            },
            None => self.request_fits(origin, target),
        };
        let cast = match cast {
            Ok(cast) => cast,
            Err(kind) => {
                return Answer::refused(format!(
                    "{} does not fit a port of type {}",
                    kind.word(),
                    target.word()
                ));
            }
        };
        let mut into = self.connected.iter().filter(|edge| {
            edge.destination.node().is_some_and(|to| to.id.as_str() == node)
                && edge.destination.port().is_some_and(|to| to.name.as_str() == port.name.as_str())
        });
        let reason = into.next().map(|_| "an edge leads here already; at most one may be active".to_owned());
        Answer { cast, reason, is_allowed: true }
    }

    /// A field of the request has one type, which all ports it feeds can take.
    fn request_fits(&self, origin: &EdgeSource<'_>, target: PortType) -> Result<Cast, PortType> {
        let EdgeSource::Request(field) = origin else { return Ok(Cast::None) };
        let fed: Vec<PortType> = self
            .connected
            .iter()
            .filter(|edge| edge.edge.transform.is_absent())
            .filter(|edge| matches!(edge.origin, EdgeSource::Request(known) if known == *field))
            .filter_map(|edge| edge.destination.port()?.port_type.map(|kind| kind.value))
            .collect();
        let takes = |kind: PortType| fed.iter().chain([&target]).all(|to| connection(kind, *to).is_some());
        if PortType::ALL.into_iter().any(takes) {
            Ok(Cast::None)
        } else {
            Err(*fed.first().unwrap_or(&target))
        }
    }

    /// The ends that the response has.
    fn response(&self) -> Vec<(String, Answer)> {
        let mut fields: Vec<&str> = Vec::new();
        let mut is_whole = false;
        for edge in &self.connected {
            match edge.destination {
                EdgeTarget::ResponseField(field) if !fields.contains(&field) => fields.push(field),
                EdgeTarget::Response => is_whole = true,
                _ => {}
            }
        }
        let fine = |reason: Option<&str>| Answer {
            cast: Cast::None,
            reason: reason.map(str::to_owned),
            is_allowed: true,
        };
        let taken = "an edge leads here already; at most one may be active";
        let whole = if fields.is_empty() {
            fine(is_whole.then_some(taken))
        } else {
            Answer::refused("the response is made of fields; name one, as `_output.name`")
        };
        let mut ends = vec![(OUTPUT.to_owned(), whole)];
        ends.extend(fields.into_iter().map(|field| (format!("{OUTPUT}.{field}"), fine(Some(taken)))));
        ends
    }

    /// The nodes from which a node is reached, itself among them.
    fn leading_to(&self, node: &str) -> HashSet<&'f str> {
        let mut found: HashSet<&'f str> = HashSet::new();
        let mut waiting: Vec<&'f str> =
            self.flow.nodes.get(node).map(|node| node.id.as_str()).into_iter().collect();
        while let Some(node) = waiting.pop() {
            if !found.insert(node) {
                continue;
            }
            for edge in &self.connected {
                if edge.destination.node().is_some_and(|to| to.id.as_str() == node)
                    && let Some(from) = edge.origin.node()
                {
                    waiting.push(from.id.as_str());
                }
            }
        }
        found
    }

    /// The edge as the checker judges it.
    fn tried(&self, text: &str, from: &str, to: &str, options: &CheckOptions) -> Answer {
        let connect = FlowEdit::Connect {
            from: from.to_owned(),
            to: to.to_owned(),
            condition: None,
            otherwise: false,
            transform: None,
        };
        let (origin, target) = (endpoint(from), endpoint(to));
        let types = graph::origin(self.flow, &origin).ok().zip(graph::destination(self.flow, &target).ok());
        let types =
            types.and_then(|(origin, target)| Some((origin.port()?.port_type?, target.port()?.port_type?)));
        let cast = types.and_then(|(from, to)| connection(from.value, to.value)).map_or(Cast::None, Cast::of);
        match apply(text, &EditRequest::new(vec![connect]), options) {
            Ok(_) => Answer { cast, reason: None, is_allowed: true },
            Err(EditError::AddsErrors { diagnostics, .. }) => {
                let said: Vec<&str> = diagnostics.iter().map(|found| found.message.as_str()).collect();
                Answer::refused(said.join("; "))
            }
            Err(error) => Answer::refused(error.to_string()),
        }
    }
}

/// An end that is in no text.
fn endpoint(text: &str) -> Endpoint {
    let span = Span::at(SourceId(0), 0);
    let (node, port) = text.split_once('.').map_or((text, None), |(node, port)| (node, Some(port)));
    let spanned = |name: &str| Spanned::new(name.to_owned(), span);
    Endpoint { span, node: spanned(node), port: port.map(spanned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &str = r#"version: "1.0"
metadata: {name: f}
context: {requires: [q]}
nodes:
  a:
    inputs: [{name: q, type: string}]
    outputs: [{name: n, type: number}, {name: list, type: array}]
    transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {}\n"}
  b:
    inputs: [{name: text, type: string}, {name: flag, type: boolean, optional: true}]
    outputs: [{name: done, type: string}]
    transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {}\n"}
edges:
  - {from: _input.q, to: a.q}
  - {from: a.n, to: b.text}
  - {from: b.done, to: _output}
"#;

    fn said(targets: &[Target]) -> Vec<String> {
        targets.iter().map(|one| format!("{} {} {}", one.to, one.allowed, one.cast)).collect()
    }

    #[test]
    fn types_circles_and_taken_ports_decide() {
        let read = stave_flow::parse(SourceId(0), FLOW);
        let flow = read.flow.unwrap();
        let ends = Ends { connected: graph::connected(&flow), flow: &flow };
        let number = ends.targets("a.n").unwrap();
        assert_eq!(
            said(&number),
            ["a.q false none", "b.text true text", "b.flag false none", "_output true none"]
        );
        let back = ends.targets("b.done").unwrap();
        assert_eq!(said(&back)[0], "a.q false none");
        assert!(back[0].reason.0.as_ref().unwrap().contains("circle"), "{back:?}");
        let sources = ends.sources("b.text").unwrap();
        let sources: Vec<String> =
            sources.iter().map(|one| format!("{} {} {}", one.from, one.allowed, one.cast)).collect();
        assert_eq!(
            sources,
            ["_input.q true none", "a.n true text", "a.list false none", "b.done false none"]
        );
        assert!(ends.targets("nobody.x").is_err() && ends.sources("a.nothing").is_err());
        assert!(!ends.tried(FLOW, "a.list", "b.flag", &CheckOptions::default()).is_allowed);
        assert!(ends.tried(FLOW, "a.n", "b.text", &CheckOptions::default()).reason.is_some());
    }
}
