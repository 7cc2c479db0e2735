//! What an editor asks about a place in a text.

use hyper::StatusCode;
use stave_diag::{SourceId, Span};
use stave_flow::FormatOptions;
use stave_flow::service::{self, Analysis, CompletionKind};

use super::Studio;
use super::analysis;
use super::places::Places;
use super::request::TextCall;
use crate::api::text_types::{
    CompletionItem, CompletionItemKind, Completions, FormattedText, Hover, Ranges, Subject, SubjectAt,
};
use crate::handlers::Call;
use crate::problem::Problem;

/// Asks something about the place that a call names.
async fn at<T: Send + 'static>(
    call: Call<'_>,
    studio: &Studio,
    ask: impl FnOnce(&Analysis, &Places, usize) -> T + Send + 'static,
) -> Result<T, Problem> {
    let call = TextCall::<SubjectAt>::read(call, studio).await?;
    let asked = call.work(studio, move |call, options, _| {
        let places = Places::new(&call.text);
        let offset = places.byte(call.body.offset);
        ask(&analysis::service(call.text, &options), &places, offset)
    });
    asked.await
}

pub(super) async fn hover(call: Call<'_>, studio: &Studio) -> Result<Hover, Problem> {
    at(call, studio, |analysis, places, offset| {
        let found = service::hover(analysis, offset);
        let range = found.as_ref().map(|hover| places.range(hover.span));
        Hover { markdown: found.map(|hover| hover.markdown).into(), range: range.into() }
    })
    .await
}

pub(super) async fn completion(call: Call<'_>, studio: &Studio) -> Result<Completions, Problem> {
    let call = TextCall::<SubjectAt>::read(call, studio).await?;
    let asked = call.work(studio, |call, _, _| {
        let places = Places::new(&call.text);
        let offset = places.byte(call.body.offset);
        let items = service::completions(&call.text, offset).into_iter().map(|item| CompletionItem {
            label: item.label,
            insert: item.insert,
            detail: item.detail,
            kind: kind(item.kind),
            offset: places.unit(item.start),
            end_offset: places.unit(item.end),
        });
        Completions { items: items.collect() }
    });
    asked.await
}

fn kind(kind: CompletionKind) -> CompletionItemKind {
    match kind {
        CompletionKind::Field => CompletionItemKind::Field,
        CompletionKind::Value => CompletionItemKind::Value,
        CompletionKind::Operation => CompletionItemKind::Operation,
        CompletionKind::Port => CompletionItemKind::Port,
        CompletionKind::Variable => CompletionItemKind::Variable,
    }
}

pub(super) async fn definition(call: Call<'_>, studio: &Studio) -> Result<Ranges, Problem> {
    at(call, studio, |analysis, places, offset| ranges(&service::definitions(analysis, offset), places)).await
}

pub(super) async fn references(call: Call<'_>, studio: &Studio) -> Result<Ranges, Problem> {
    at(call, studio, |analysis, places, offset| ranges(&service::references(analysis, offset, true), places))
        .await
}

fn ranges(spans: &[Span], places: &Places) -> Ranges {
    Ranges { ranges: spans.iter().map(|span| places.range(*span)).collect() }
}

pub(super) async fn format(call: Call<'_>, studio: &Studio) -> Result<FormattedText, Problem> {
    let call = TextCall::<Subject>::read(call, studio).await?;
    let asked = call.work(studio, |call, _, _| {
        match stave_flow::format(SourceId(0), &call.text, FormatOptions::default()) {
            Ok(text) => Ok(FormattedText { text }),
            Err(error) => {
                Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "not-a-flow", error.to_string()))
            }
        }
    });
    asked.await?
}
