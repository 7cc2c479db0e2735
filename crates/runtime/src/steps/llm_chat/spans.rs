//! The spans of a conversation: one for each question to a model, one for each call of a tool.
//!
//! Invariant: content goes into a span only when it is wanted, and without secrets.

use stave_canon::Number;
use stave_llm::prices::Cost;
use stave_llm::{Attempt, Error, ErrorKind, Reply, Request, ToolUse};

use super::conversation::Conversation;
use crate::trace::{End, ModelWork, OptionalSpan, Work};

/// Marks that an attempt failed and another one follows.
pub(super) fn retry(span: &OptionalSpan, attempt: &Attempt) {
    let error = attempt.error.as_ref().map(ErrorKind::word);
    span.retried(error.as_deref().unwrap_or("unknown"), attempt.wait);
}

pub(super) fn model(conversation: &Conversation<'_>, request: &Request) -> OptionalSpan {
    let Conversation { call, arguments, target, .. } = conversation;
    if !call.span.is_watched() {
        return OptionalSpan::default();
    }
    let content = call.span.wants_content().then(|| call.services.secrets.redactor().request(request));
    call.span.child(&Work::Model(ModelWork {
        target,
        max_tokens: arguments.max_tokens,
        temperature: arguments.temperature.as_ref().map(Number::as_f64),
        is_structured: arguments.output_schema.is_some(),
        request: content.as_ref(),
    }))
}

pub(super) fn end_model(
    conversation: &Conversation<'_>,
    span: OptionalSpan,
    reply: &Result<Reply, Error>,
    cost: Option<Cost>,
) {
    if !span.is_watched() {
        return;
    }
    let redactor = || conversation.call.services.secrets.redactor();
    let attempts = match reply {
        Ok(reply) => reply.attempts.len(),
        Err(error) => error.attempts.len(),
    };
    let content = reply.as_ref().ok().filter(|_| span.wants_content());
    let content = content.map(|reply| redactor().response(&reply.response));
    let error = reply.as_ref().err().map(|error| error.kind.word());
    let response = reply.as_ref().map(|reply| &reply.response);
    let response = response.map_err(|_| error.as_deref().unwrap_or_default());
    span.end(&End::Model { response, content: content.as_ref(), attempts, cost });
}

pub(super) fn tool(conversation: &Conversation<'_>, tool_use: &ToolUse) -> OptionalSpan {
    let call = conversation.call;
    let arguments = call.span.wants_content().then(|| call.services.secrets.hide(&tool_use.arguments));
    let arguments = arguments.as_deref();
    call.span.child(&Work::Tool { name: &tool_use.name, call_id: &tool_use.id, arguments })
}

pub(super) fn end_tool(conversation: &Conversation<'_>, span: OptionalSpan, text: &str, is_error: bool) {
    let result = span.wants_content().then(|| conversation.call.services.secrets.hide(text));
    span.end(&End::Tool { is_error, result: result.as_deref() });
}
