//! What an editor asks about a place in a text.

use hyper::StatusCode;
use stave_canon::Value;
use stave_diag::{SourceId, Span};
use stave_flow::FormatOptions;
use stave_flow::service::{self, Analysis, CompletionKind};

use super::analysis;
use super::places::Places;
use super::request::TextCall;
use super::{Studio, object};
use crate::handlers::Call;
use crate::problem::Problem;

/// Asks something about the place that a call names.
async fn at<T: Send + 'static>(
    call: Call<'_>,
    studio: &Studio,
    ask: impl FnOnce(&Analysis, &Places, usize) -> T + Send + 'static,
) -> Result<T, Problem> {
    let call = TextCall::read(call, studio).await?;
    let asked = call.work(studio, move |call, options, _| {
        let places = Places::new(&call.text);
        let offset = call.offset(&places)?;
        Ok(ask(&analysis::service(call.text, &options), &places, offset))
    });
    asked.await?
}

pub(super) async fn hover(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    at(call, studio, |analysis, places, offset| {
        let found = service::hover(analysis, offset);
        object([
            ("markdown", found.as_ref().map(|hover| hover.markdown.as_str()).into()),
            ("range", found.as_ref().map(|hover| places.range(hover.span)).unwrap_or_default()),
        ])
    })
    .await
}

pub(super) async fn completion(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    let call = TextCall::read(call, studio).await?;
    let asked = call.work(studio, |call, _, _| {
        let places = Places::new(&call.text);
        let offset = call.offset(&places)?;
        let items = service::completions(&call.text, offset).into_iter().map(|item| {
            object([
                ("label", item.label.into()),
                ("insert", item.insert.into()),
                ("detail", item.detail.into()),
                ("kind", kind(item.kind).into()),
                ("offset", places.unit(item.start).into()),
                ("end_offset", places.unit(item.end).into()),
            ])
        });
        Ok(object([("items", Value::Array(items.collect()))]))
    });
    asked.await?
}

fn kind(kind: CompletionKind) -> &'static str {
    match kind {
        CompletionKind::Field => "field",
        CompletionKind::Value => "value",
        CompletionKind::Operation => "operation",
        CompletionKind::Port => "port",
        CompletionKind::Variable => "variable",
    }
}

pub(super) async fn definition(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    at(call, studio, |analysis, places, offset| ranges(&service::definitions(analysis, offset), places)).await
}

pub(super) async fn references(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    at(call, studio, |analysis, places, offset| ranges(&service::references(analysis, offset, true), places))
        .await
}

fn ranges(spans: &[Span], places: &Places) -> Value {
    object([("ranges", Value::Array(spans.iter().map(|span| places.range(*span)).collect()))])
}

pub(super) async fn format(call: Call<'_>, studio: &Studio) -> Result<Value, Problem> {
    let call = TextCall::read(call, studio).await?;
    let asked = call.work(studio, |call, _, _| {
        match stave_flow::format(SourceId(0), &call.text, FormatOptions::default()) {
            Ok(text) => Ok(object([("text", text.into())])),
            Err(error) => {
                Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-a-flow", error.to_string()))
            }
        }
    });
    asked.await?
}
