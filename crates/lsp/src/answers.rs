//! The answer to each request.

use std::collections::HashMap;

use lsp_types::request::{
    CodeActionRequest, Completion, DocumentSymbolRequest, Formatting, GotoDefinition, HoverRequest,
    PrepareRenameRequest, References, Rename, Request,
};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CompletionItem, CompletionItemKind, CompletionTextEdit,
    DiagnosticRelatedInformation, DiagnosticSeverity, Documentation, HoverContents, Location, MarkupContent,
    MarkupKind, NumberOrString, TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stave_diag::{Edit, Severity, Span};
use stave_flow::service::{self, CompletionKind, SymbolKind};
use stave_flow::{CheckOptions, FormatOptions};

use crate::LineIndex;
use crate::documents::{CheckOptionsSource, Document, Documents};

type Answer = Result<Value, String>;

/// Answers a request; `None` when the method is not known.
pub(crate) fn answer(
    method: &str,
    params: Value,
    documents: &mut Documents,
    settings: &dyn CheckOptionsSource,
) -> Option<Answer> {
    Some(match method {
        HoverRequest::METHOD => at_position(params, documents, settings, |document, options, offset, _| {
            let found = service::hover(document.analysis(options), offset);
            let hover = found.map(|found| lsp_types::Hover {
                contents: HoverContents::Markup(MarkupContent {
                    kind: MarkupKind::Markdown,
                    value: found.markdown,
                }),
                range: Some(document.places.range(&document.text, found.span)),
            });
            written(&hover)
        }),
        GotoDefinition::METHOD => {
            at_position(params, documents, settings, |document, options, offset, uri| {
                let spans = service::definitions(document.analysis(options), offset);
                written(&locations(document, uri, &spans))
            })
        }
        References::METHOD => {
            let with = params.pointer("/context/includeDeclaration").and_then(Value::as_bool).unwrap_or(true);
            at_position(params, documents, settings, |document, options, offset, uri| {
                let spans = service::references(document.analysis(options), offset, with);
                written(&locations(document, uri, &spans))
            })
        }
        Completion::METHOD => at_position(params, documents, settings, |document, _, offset, _| {
            let items = service::completions(&document.text, offset);
            written(&items.into_iter().map(|item| completion(document, item)).collect::<Vec<_>>())
        }),
        PrepareRenameRequest::METHOD => {
            at_position(params, documents, settings, |document, options, offset, _| {
                let span = service::renamable_at(document.analysis(options), offset);
                written(&span.map(|span| document.places.range(&document.text, span)))
            })
        }
        Rename::METHOD => {
            let to = params.get("newName").and_then(Value::as_str).unwrap_or_default().to_owned();
            at_position(params, documents, settings, |document, options, offset, uri| {
                let edits = service::rename_at(document.analysis(options), offset, &to, options)?;
                written(&workspace_edit(document, uri, &edits))
            })
        }
        DocumentSymbolRequest::METHOD => {
            in_document(&params, documents, settings, |document, options, _, _| {
                let symbols =
                    document.analysis(options).flow.as_ref().map(service::symbols).unwrap_or_default();
                let symbols: Vec<_> = symbols
                    .into_iter()
                    .map(|symbol| outline(&document.places, &document.text, symbol))
                    .collect();
                written(&symbols)
            })
        }
        CodeActionRequest::METHOD => in_document(&params, documents, settings, code_actions),
        Formatting::METHOD => {
            in_document(&params, documents, settings, |document, _, _, _| written(&formatted(document)))
        }
        _ => return None,
    })
}

/// The findings of a document for the editor.
pub(crate) fn findings(
    uri: &str,
    document: &mut Document,
    options: &CheckOptions,
) -> Vec<lsp_types::Diagnostic> {
    let found = document.analysis(options).diagnostics.clone();
    found.iter().map(|found| finding(uri, document, found)).collect()
}

fn finding(uri: &str, document: &Document, found: &stave_diag::Diagnostic) -> lsp_types::Diagnostic {
    let range = |span: Span| document.places.range(&document.text, span);
    let related = found.labels.iter().filter_map(|label| {
        let location = Location { uri: uri.parse::<Uri>().ok()?, range: range(label.span) };
        Some(DiagnosticRelatedInformation { location, message: label.message.clone() })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    let message = match &found.help {
        Some(help) => format!("{}\nhelp: {help}", found.message),
        None => found.message.clone(),
    };
    lsp_types::Diagnostic {
        range: range(found.primary),
        severity: Some(match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(found.code.0.to_owned())),
        source: Some("stave".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

fn written<T: Serialize>(value: &T) -> Answer {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| format!("the parameters cannot be read: {error}"))
}

/// Answers about a place of an open document.
fn at_position(
    params: Value,
    documents: &mut Documents,
    settings: &dyn CheckOptionsSource,
    answer: impl FnOnce(&mut Document, &CheckOptions, usize, &Uri) -> Answer,
) -> Answer {
    let TextDocumentPositionParams { text_document, position } = read(params)?;
    let uri = text_document.uri;
    let Some(document) = documents.get_mut(&uri) else {
        return Err(format!("`{}` is not open", uri.as_str()));
    };
    document.prepare(uri.as_str(), settings);
    let offset = document.places.offset(&document.text, position);
    answer(document, &settings.options(uri.as_str()), offset, &uri)
}

/// Answers about a whole open document.
fn in_document(
    params: &Value,
    documents: &mut Documents,
    settings: &dyn CheckOptionsSource,
    answer: impl FnOnce(&mut Document, &CheckOptions, &Uri, &Value) -> Answer,
) -> Answer {
    let uri: Uri = read(params.pointer("/textDocument/uri").cloned().unwrap_or_default())?;
    let Some(document) = documents.get_mut(&uri) else {
        return Err(format!("`{}` is not open", uri.as_str()));
    };
    document.prepare(uri.as_str(), settings);
    answer(document, &settings.options(uri.as_str()), &uri, params)
}

fn locations(document: &Document, uri: &Uri, spans: &[Span]) -> Vec<Location> {
    let location =
        |span: &Span| Location { uri: uri.clone(), range: document.places.range(&document.text, *span) };
    spans.iter().map(location).collect()
}

fn text_edit(document: &Document, edit: &Edit) -> TextEdit {
    TextEdit { range: document.places.range(&document.text, edit.span), new_text: edit.replacement.clone() }
}

fn workspace_edit(document: &Document, uri: &Uri, edits: &[Edit]) -> WorkspaceEdit {
    let edits = edits.iter().map(|edit| text_edit(document, edit)).collect();
    WorkspaceEdit { changes: Some(HashMap::from([(uri.clone(), edits)])), ..WorkspaceEdit::default() }
}

fn completion(document: &Document, item: service::Completion) -> CompletionItem {
    let range = lsp_types::Range {
        start: document.places.position(&document.text, item.start),
        end: document.places.position(&document.text, item.end),
    };
    CompletionItem {
        label: item.label,
        kind: Some(match item.kind {
            CompletionKind::Field => CompletionItemKind::PROPERTY,
            CompletionKind::Value => CompletionItemKind::ENUM_MEMBER,
            CompletionKind::Operation => CompletionItemKind::FUNCTION,
            CompletionKind::Port => CompletionItemKind::INTERFACE,
            CompletionKind::Variable => CompletionItemKind::VARIABLE,
        }),
        documentation: (!item.detail.is_empty()).then_some(Documentation::String(item.detail)),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: item.insert })),
        ..CompletionItem::default()
    }
}

#[expect(deprecated, reason = "the protocol's type has a field that is no longer used and must be given")]
fn outline(places: &LineIndex, text: &str, symbol: service::DocumentSymbol) -> lsp_types::DocumentSymbol {
    let children: Vec<_> = symbol.children.into_iter().map(|child| outline(places, text, child)).collect();
    lsp_types::DocumentSymbol {
        name: symbol.name,
        detail: (!symbol.detail.is_empty()).then_some(symbol.detail),
        kind: match symbol.kind {
            SymbolKind::Node => lsp_types::SymbolKind::FUNCTION,
            SymbolKind::Input | SymbolKind::Output => lsp_types::SymbolKind::FIELD,
            SymbolKind::Error => lsp_types::SymbolKind::EVENT,
            SymbolKind::Context => lsp_types::SymbolKind::VARIABLE,
            SymbolKind::Edge => lsp_types::SymbolKind::OPERATOR,
        },
        tags: None,
        deprecated: None,
        range: places.range(text, symbol.span),
        selection_range: places.range(text, symbol.name_span),
        children: (!children.is_empty()).then_some(children),
    }
}

fn code_actions(document: &mut Document, options: &CheckOptions, uri: &Uri, params: &Value) -> Answer {
    let range: lsp_types::Range = read(params.get("range").cloned().unwrap_or_default())?;
    let start = document.places.offset(&document.text, range.start);
    let end = document.places.offset(&document.text, range.end);
    let fixes: Vec<_> = document
        .analysis(options)
        .fixes_in(start, end)
        .map(|(found, fix)| (found.clone(), fix.clone()))
        .collect();
    let actions = fixes.into_iter().map(|(found, fix)| {
        CodeActionOrCommand::CodeAction(CodeAction {
            title: fix.title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![finding(uri.as_str(), document, &found)]),
            edit: Some(workspace_edit(document, uri, &fix.edits)),
            is_preferred: Some(true),
            ..CodeAction::default()
        })
    });
    written(&actions.collect::<Vec<_>>())
}

/// One edit that puts the whole text in its canonical layout; none when it is, or when it cannot be read.
fn formatted(document: &Document) -> Vec<TextEdit> {
    if !document.is_flow {
        return Vec::new();
    }
    let Ok(text) = stave_flow::format(stave_diag::SourceId(0), &document.text, FormatOptions::default())
    else {
        return Vec::new();
    };
    if text == document.text {
        return Vec::new();
    }
    let end = document.places.position(&document.text, document.text.len());
    let range = lsp_types::Range { start: lsp_types::Position::default(), end };
    vec![TextEdit { range, new_text: text }]
}
