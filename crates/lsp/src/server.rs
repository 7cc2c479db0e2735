//! The loop: requests are answered in order, findings follow when the typing pauses.

use std::time::Duration;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, OneOf,
    PublishDiagnosticsParams, RenameOptions, SaveOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri, WorkDoneProgressOptions,
};

use crate::answers;
use crate::documents::{Documents, Settings};

/// How long the typing must pause before findings are sent.
const PAUSE: Duration = Duration::from_millis(120);

/// Why the server stopped without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the editor does not speak the protocol: {0}")]
    Protocol(#[from] lsp_server::ProtocolError),
    #[error("a message could not be written or read as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the connection to the editor broke: {0}")]
    Connection(#[from] std::io::Error),
    #[error("the editor went away")]
    Gone,
}

/// Serves an editor on stdin and stdout until it says goodbye.
pub fn serve_stdio(settings: &dyn Settings) -> Result<(), Error> {
    let (connection, threads) = Connection::stdio();
    serve(&connection, settings)?;
    drop(connection);
    threads.join()?;
    Ok(())
}

/// Serves an editor until it says goodbye.
pub fn serve(connection: &Connection, settings: &dyn Settings) -> Result<(), Error> {
    connection.initialize(serde_json::to_value(capabilities())?)?;
    let mut documents = Documents::default();
    loop {
        let message = if documents.has_stale() {
            match connection.receiver.recv_timeout(PAUSE) {
                Ok(message) => message,
                Err(error) if error.is_timeout() => {
                    publish(connection, &mut documents, settings)?;
                    continue;
                }
                Err(_) => return Ok(()),
            }
        } else {
            match connection.receiver.recv() {
                Ok(message) => message,
                Err(_) => return Ok(()),
            }
        };
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request)? {
                    return Ok(());
                }
                let response = respond(request, &mut documents, settings);
                send(connection, Message::Response(response))?;
            }
            Message::Notification(notification) => notice(connection, notification, &mut documents)?,
            Message::Response(_) => {}
        }
    }
}

fn capabilities() -> ServerCapabilities {
    let plain = WorkDoneProgressOptions::default();
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(true.into()),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", "'", "\"", "{", " "].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: plain,
        })),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

fn send(connection: &Connection, message: Message) -> Result<(), Error> {
    connection.sender.send(message).map_err(|_| Error::Gone)
}

fn respond(request: Request, documents: &mut Documents, settings: &dyn Settings) -> Response {
    let Request { id, method, params } = request;
    match answers::answer(&method, params, documents, settings) {
        Some(Ok(result)) => Response::new_ok(id, result),
        Some(Err(message)) => Response::new_err(id, ErrorCode::RequestFailed as i32, message),
        None => Response::new_err(
            id,
            ErrorCode::MethodNotFound as i32,
            format!("`{method}` is not answered here"),
        ),
    }
}

fn notice(
    connection: &Connection,
    notification: Notification,
    documents: &mut Documents,
) -> Result<(), Error> {
    let Notification { method, params } = notification;
    // A notification that can not be read has nobody to tell; the document stays as it was.
    match method.as_str() {
        DidOpenTextDocument::METHOD => {
            if let Ok(opened) = serde_json::from_value::<lsp_types::DidOpenTextDocumentParams>(params) {
                let document = opened.text_document;
                documents.open(&document.uri, document.version, document.text);
            }
        }
        DidChangeTextDocument::METHOD => {
            if let Ok(changed) = serde_json::from_value::<lsp_types::DidChangeTextDocumentParams>(params) {
                let document = changed.text_document;
                documents.change(&document.uri, document.version, changed.content_changes);
            }
        }
        DidCloseTextDocument::METHOD => {
            if let Ok(closed) = serde_json::from_value::<lsp_types::DidCloseTextDocumentParams>(params) {
                documents.close(&closed.text_document.uri);
                tell(connection, closed.text_document.uri, Vec::new(), None)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn publish(connection: &Connection, documents: &mut Documents, settings: &dyn Settings) -> Result<(), Error> {
    let mut told = Vec::new();
    for (uri, document) in documents.stale() {
        document.is_stale = false;
        let version = document.version;
        let findings = answers::findings(uri, document, &settings.options(uri));
        told.push((uri.to_owned(), findings, version));
    }
    for (uri, findings, version) in told {
        if let Ok(uri) = uri.parse::<Uri>() {
            tell(connection, uri, findings, Some(version))?;
        }
    }
    Ok(())
}

fn tell(
    connection: &Connection,
    uri: Uri,
    diagnostics: Vec<lsp_types::Diagnostic>,
    version: Option<i32>,
) -> Result<(), Error> {
    let params = serde_json::to_value(PublishDiagnosticsParams { uri, diagnostics, version })?;
    send(
        connection,
        Message::Notification(Notification { method: PublishDiagnostics::METHOD.to_owned(), params }),
    )
}
