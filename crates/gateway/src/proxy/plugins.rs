//! The project's prompt plugins on a request: they may change its system text and add constraints to it.
//!
//! Invariant: a plugin works on a system text that the policies approve, and the policies judge what it made of it.
//! A change that a request has no place for is a failure of the plugin, never a change that is lost.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::StatusCode;
use stave_block::Surface;
use stave_canon::{Ids, Value};
use stave_lower::{PlacedText, RequestBody, Splice, Spliced, placed_texts};
use stave_prompt::plugins::{ConfiguredPlugin, Plugin, PluginChange, PluginError};
use stave_prompt::{Pipeline, PromptIr};

use super::gateway::Core;
use super::interface::Fault;
use super::judge::{Denied, add, is_instruction, prompt_of};
use super::received::Received;
use super::setup::{Candidate, Setup};
use crate::config::Enforcement;
use crate::records::GateDecision;

/// Whether there are plugins and the request can be read.
pub(crate) fn apply_to(setup: &Setup, received: &Received) -> bool {
    !setup.config.policy.plugins.is_empty() && received.wire.is_ok()
}

/// Takes the system text of a request through the plugins and puts what they made of it into the body.
pub(crate) fn apply(
    core: &Core,
    setup: &Setup,
    received: &mut Received,
    candidate: &Candidate,
) -> Result<(), Denied> {
    let policy = &setup.config.policy;
    let Ok(wire) = &received.wire else { return Ok(()) };
    let body = received.text();
    let instructions = wire.positions.iter().filter(|position| is_instruction(position));
    let parts: Vec<PlacedText> = instructions.flat_map(|position| placed_texts(body, position)).collect();
    let texts: Arc<[String]> = parts.iter().map(|part| part.text.clone()).collect();
    let prompt =
        prompt_of(&texts.join("\n"), &candidate.upstream, &candidate.model, &*core.ids, &*core.clock);
    let prompt =
        prompt.map_err(|error| denied(internal(&format!("the request makes no prompt: {error}"))))?;
    let governance = (policy.enforcement == Enforcement::Enforce).then(|| policy.governance.clone());
    let on_request = policy.plugins.iter().map(|configured| {
        let inner = Arc::clone(&configured.plugin);
        let plugin: Arc<dyn Plugin> = Arc::new(OnRequest { inner, texts: Arc::clone(&texts) });
        ConfiguredPlugin { plugin, ..configured.clone() }
    });
    let pipeline = Pipeline::new(governance).with_configured(on_request);
    let outcome = pipeline.process(&prompt, &*core.ids, &*core.clock);
    let mut decisions = Vec::new();
    for done in outcome.transformations.iter() {
        add(&mut decisions, of_plugin("change", done.applied_by.to_string()));
    }
    for failure in &outcome.failures {
        add(&mut decisions, of_plugin("fail", failure.plugin.clone()));
    }
    if let Some(message) = outcome.plugin_refusal() {
        let fault = Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "plugin_failed", message);
        return Err(Denied { fault, decisions });
    }
    if !outcome.approved {
        for violation in outcome.violations.iter() {
            let field = Cow::Owned(violation.field.word().to_owned());
            let decision = of_plugin("refuse", violation.policy.to_string());
            add(&mut decisions, GateDecision { field, is_policy: true, ..decision });
        }
        let message = format!("governance refused the request: {}", outcome.violation_texts().join("; "));
        let fault = Fault::new(StatusCode::FORBIDDEN, "prompt_refused", message);
        return Err(Denied { fault, decisions });
    }
    let splices = splices(body, received.surface(), &parts, &texts, &outcome.ir);
    let changed = match splices {
        Some(splices) if splices.is_empty() => None,
        Some(splices) => Some(Spliced::new(body, splices).body),
        None => return Err(denied(internal("the request has no place for a system text"))),
    };
    received.plugins = decisions;
    if changed.is_some_and(|body| !received.change(body)) {
        return Err(denied(internal("what plugins made of the request cannot be read")));
    }
    Ok(())
}

fn internal(message: &str) -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "plugin_failed", message)
}

fn denied(fault: Fault) -> Denied {
    Denied { fault, decisions: Vec::new() }
}

/// A plugin of the project, held to what a request can take over.
#[derive(Debug)]
struct OnRequest {
    inner: Arc<dyn Plugin>,
    /// The system texts of the request as it came.
    texts: Arc<[String]>,
}

impl Plugin for OnRequest {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn bounds_its_time(&self) -> bool {
        self.inner.bounds_its_time()
    }

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError> {
        let Some(change) = self.inner.transform(ir, ids)? else { return Ok(None) };
        if let Some(field) = field_without_place(ir, &change.ir) {
            let message = format!("it changed `{field}`, which a request at the gateway does not have");
            return Err(PluginError(message));
        }
        match edited(&self.texts, &change.ir.intent) {
            Edited::Scattered => {
                let count = self.texts.len();
                Err(PluginError(format!("it changed more than one of the {count} system texts of a request")))
            }
            Edited::One(_, text) if text.trim().is_empty() => {
                Err(PluginError("it left a system text empty, which providers refuse".to_owned()))
            }
            Edited::Nothing | Edited::New | Edited::One(..) => Ok(Some(change)),
        }
    }
}

/// The field of a prompt that differs and that no part of a request holds.
fn field_without_place(before: &PromptIr, after: &PromptIr) -> Option<&'static str> {
    let same = [
        ("role", before.role == after.role),
        ("context_refs", before.context_refs == after.context_refs),
        ("output_requirements", before.output_requirements == after.output_requirements),
        ("token_budget", before.token_budget == after.token_budget),
        ("model_hint", before.model_hint == after.model_hint),
        ("temperature_hint", before.temperature_hint == after.temperature_hint),
        ("schema_id", before.schema_id == after.schema_id),
    ];
    same.iter().find(|(_, same)| !same).map(|(field, _)| *field)
}

/// What became of the system texts, which plugins see joined by line breaks.
#[derive(Debug, PartialEq, Eq)]
enum Edited {
    Nothing,
    /// There was none and there is one.
    New,
    /// The text of this number became another.
    One(usize, String),
    /// More than one text changed, so that nobody can say which became what.
    Scattered,
}

fn edited(texts: &[String], intent: &str) -> Edited {
    let before = texts.join("\n");
    if before == intent {
        return Edited::Nothing;
    }
    if texts.is_empty() {
        return Edited::New;
    }
    let same = before.bytes().zip(intent.bytes()).take_while(|(one, other)| one == other).count();
    let start = before.floor_char_boundary(same);
    let most = before.len().min(intent.len()) - start;
    let pairs = before.bytes().rev().zip(intent.bytes().rev()).take(most);
    let same = pairs.take_while(|(one, other)| one == other).count();
    let end = before.ceil_char_boundary(before.len() - same);
    let middle = intent.get(start..intent.len() - (before.len() - end)).unwrap_or_default();
    let mut at = 0;
    for (index, text) in texts.iter().enumerate() {
        if start >= at && end <= at + text.len() {
            let (head, tail) = (text.get(..start - at), text.get(end - at..));
            let whole = [head.unwrap_or_default(), middle, tail.unwrap_or_default()].concat();
            return Edited::One(index, whole);
        }
        at += text.len() + 1;
    }
    Edited::Scattered
}

/// The edits that take a prompt over into the body; `None` when there is no place for it.
fn splices(
    body: &str,
    surface: Surface,
    parts: &[PlacedText],
    texts: &[String],
    ir: &PromptIr,
) -> Option<Vec<Splice>> {
    let constraints: String = ir.constraints.iter().map(|constraint| format!("\n- {constraint}")).collect();
    let constraints = if constraints.is_empty() { constraints } else { format!("CONSTRAINTS:{constraints}") };
    let Some(last) = parts.len().checked_sub(1) else {
        let text: Vec<&str> =
            [ir.intent.as_str(), &constraints].into_iter().filter(|text| !text.is_empty()).collect();
        return if text.is_empty() { Some(Vec::new()) } else { inserted(body, surface, &text.join("\n\n")) };
    };
    let mut changed: Vec<Option<String>> = vec![None; parts.len()];
    if let Edited::One(index, text) = edited(texts, &ir.intent) {
        *changed.get_mut(index)? = Some(text);
    }
    if !constraints.is_empty() {
        let slot = changed.get_mut(last)?;
        let text = slot.take().or_else(|| texts.last().cloned()).unwrap_or_default();
        *slot = Some(format!("{text}\n\n{constraints}"));
    }
    let changed = parts.iter().zip(changed);
    Some(changed.filter_map(|(part, text)| Some(part.replaced(&text?))).collect())
}

/// The edit that gives a request its first system text.
fn inserted(body: &str, surface: Surface, text: &str) -> Option<Vec<Splice>> {
    let read = RequestBody::read(body).ok()?;
    let quoted = Value::from(text).to_string();
    let member = match surface {
        Surface::AnthropicMessages => "system",
        Surface::OpenAiResponses => "instructions",
        Surface::OpenAiChat => {
            let messages = read.root().get("messages").filter(|messages| messages.is_array())?;
            let comma = if messages.items().next().is_some() { "," } else { "" };
            let start = messages.range().start + 1;
            let text = format!(r#"{{"role":"system","content":{quoted}}}{comma}"#);
            return Some(vec![Splice { range: start..start, text }]);
        }
        Surface::GeminiGenerateContent => return None,
    };
    if let Some(range) = read.range(member) {
        return Some(vec![Splice { range, text: quoted }]);
    }
    let start = read.root().range().start + 1;
    let comma = if read.root().members().next().is_some() { "," } else { "" };
    Some(vec![Splice { range: start..start, text: format!(r#""{member}":{quoted}{comma}"#) }])
}

/// What a plugin, or a policy after it, did to the system text of a request.
fn of_plugin(action: &'static str, rule: String) -> GateDecision {
    GateDecision {
        action: Cow::Borrowed(action),
        rule: Cow::Owned(rule),
        places: 1,
        field: Cow::Borrowed("instructions"),
        is_policy: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(texts: &[&str], intent: &str) -> Edited {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        edited(&texts, intent)
    }

    #[test]
    fn a_change_is_found_in_the_text_that_it_was_made_in() {
        let one = |index, text: &str| Edited::One(index, text.to_owned());
        assert_eq!(edit(&["a", "b"], "a\nb"), Edited::Nothing);
        assert_eq!(edit(&[], "new"), Edited::New);
        assert_eq!(edit(&["be kind"], ""), one(0, ""));
        assert_eq!(edit(&["be kind"], "be very kind"), one(0, "be very kind"));
        assert_eq!(edit(&["be kind", "be brief"], "be kind\nbe very brief"), one(1, "be very brief"));
        assert_eq!(edit(&["be kind", "be brief"], "please be kind\nbe brief"), one(0, "please be kind"));
        assert_eq!(edit(&["aa", "aa"], "aa\naaa"), one(1, "aaa"));
        assert_eq!(edit(&["\u{e9}"], "\u{e8}"), one(0, "\u{e8}"));
        assert_eq!(edit(&["a", "b"], "x\ny"), Edited::Scattered);
    }

    #[test]
    fn a_request_without_a_system_text_gets_one() {
        for (surface, body, expected) in [
            (Surface::AnthropicMessages, r#"{"a":1}"#, r#"{"system":"x\"y","a":1}"#),
            (Surface::AnthropicMessages, r#"{"system":[]}"#, r#"{"system":"x\"y"}"#),
            (Surface::OpenAiResponses, "{}", r#"{"instructions":"x\"y"}"#),
            (
                Surface::OpenAiChat,
                r#"{"messages":[1]}"#,
                r#"{"messages":[{"role":"system","content":"x\"y"},1]}"#,
            ),
        ] {
            let splices = inserted(body, surface, "x\"y").unwrap();
            assert_eq!(Spliced::new(body, splices).body, expected);
        }
    }
}
