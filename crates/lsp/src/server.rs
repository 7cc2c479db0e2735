//! The loop: requests are answered in order unless something that came later overtook them, and findings
//! follow when the typing pauses.

use std::collections::VecDeque;
use std::time::Duration;

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    Cancel, DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{Request as _, Shutdown};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions, OneOf,
    PublishDiagnosticsParams, RenameOptions, SaveOptions, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri, WorkDoneProgressOptions,
};

use crate::answers;
use crate::documents::{CheckOptionsSource, Documents};

/// How long the typing must pause before findings are sent.
const PAUSE: Duration = Duration::from_millis(120);

/// Why the server stopped without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum LanguageServerError {
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
pub fn serve_stdio(settings: &dyn CheckOptionsSource) -> Result<(), LanguageServerError> {
    let (connection, threads) = Connection::stdio();
    serve(&connection, settings)?;
    drop(connection);
    threads.join()?;
    Ok(())
}

/// Serves an editor until it says goodbye.
pub fn serve(connection: &Connection, settings: &dyn CheckOptionsSource) -> Result<(), LanguageServerError> {
    connection.initialize(serde_json::to_value(capabilities())?)?;
    let mut documents = Documents::default();
    let mut inbox = Inbox { connection, waiting: VecDeque::new() };
    loop {
        let message = match inbox.next(documents.has_stale()) {
            Next::Message(message) => message,
            Next::Pause => {
                publish(connection, &mut documents, settings)?;
                continue;
            }
            Next::Gone => return Ok(()),
        };
        match message {
            Message::Request(request) if request.method == Shutdown::METHOD => {
                send(connection, Message::Response(Response::new_ok(request.id, ())))?;
                return inbox.wait_for_exit();
            }
            Message::Request(request) => {
                let response = inbox.respond(request, &mut documents, settings);
                send(connection, Message::Response(response))?;
            }
            Message::Notification(notification) => notice(connection, notification, &mut documents)?,
            Message::Response(_) => {}
        }
    }
}

/// The messages of the editor in their order, with those that have come while something was answered.
struct Inbox<'connection> {
    connection: &'connection Connection,
    waiting: VecDeque<Message>,
}

enum Next {
    Message(Message),
    /// Nothing came for a while.
    Pause,
    Gone,
}

impl Inbox<'_> {
    fn next(&mut self, pausing: bool) -> Next {
        if let Some(message) = self.waiting.pop_front() {
            return Next::Message(message);
        }
        if !pausing {
            return self.connection.receiver.recv().map_or(Next::Gone, Next::Message);
        }
        match self.connection.receiver.recv_timeout(PAUSE) {
            Ok(message) => Next::Message(message),
            Err(error) if error.is_timeout() => Next::Pause,
            Err(_) => Next::Gone,
        }
    }

    /// The answer to a request, unless the editor took it back or changed the text it was asked about.
    fn respond(
        &mut self,
        request: Request,
        documents: &mut Documents,
        settings: &dyn CheckOptionsSource,
    ) -> Response {
        if let Some(refused) = self.overtaken(&request) {
            return refused;
        }
        let asked = request.clone();
        let response = respond(request, documents, settings);
        // An answer may take a while, and what came meanwhile decides whether anyone wants it.
        self.overtaken(&asked).unwrap_or(response)
    }

    /// Why a request is not to be answered, when something that came after it says so.
    fn overtaken(&mut self, request: &Request) -> Option<Response> {
        while let Ok(message) = self.connection.receiver.try_recv() {
            self.waiting.push_back(message);
        }
        let cancels = |message: &Message| match message {
            Message::Notification(told) if told.method == Cancel::METHOD => {
                told.params.get("id") == serde_json::to_value(&request.id).ok().as_ref()
            }
            _ => false,
        };
        if let Some(at) = self.waiting.iter().position(cancels) {
            self.waiting.remove(at);
            return Some(Response::new_err(
                request.id.clone(),
                ErrorCode::RequestCanceled as i32,
                "the request was cancelled".to_owned(),
            ));
        }
        let uri = request.params.pointer("/textDocument/uri")?;
        let changes = |message: &Message| match message {
            Message::Notification(told) if told.method == DidChangeTextDocument::METHOD => {
                told.params.pointer("/textDocument/uri") == Some(uri)
            }
            _ => false,
        };
        self.waiting.iter().any(changes).then(|| {
            Response::new_err(
                request.id.clone(),
                ErrorCode::ContentModified as i32,
                "the text changed meanwhile".to_owned(),
            )
        })
    }

    /// Reads on until the editor lets the server go; nothing is answered any more.
    fn wait_for_exit(&mut self) -> Result<(), LanguageServerError> {
        loop {
            match self.next(false) {
                Next::Message(Message::Notification(told)) if told.method == Exit::METHOD => return Ok(()),
                Next::Message(Message::Request(request)) => {
                    let message = "the server is shutting down".to_owned();
                    let response = Response::new_err(request.id, ErrorCode::InvalidRequest as i32, message);
                    send(self.connection, Message::Response(response))?;
                }
                Next::Message(_) | Next::Pause => {}
                Next::Gone => return Ok(()),
            }
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

fn send(connection: &Connection, message: Message) -> Result<(), LanguageServerError> {
    connection.sender.send(message).map_err(|_| LanguageServerError::Gone)
}

fn respond(request: Request, documents: &mut Documents, settings: &dyn CheckOptionsSource) -> Response {
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
) -> Result<(), LanguageServerError> {
    let Notification { method, params } = notification;
    // Nobody waits for an answer to an unreadable notification; the document stays as it was.
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

fn publish(
    connection: &Connection,
    documents: &mut Documents,
    settings: &dyn CheckOptionsSource,
) -> Result<(), LanguageServerError> {
    let mut told = Vec::new();
    for (uri, document) in documents.stale() {
        document.is_stale = false;
        let version = document.version;
        document.prepare(uri, settings);
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
) -> Result<(), LanguageServerError> {
    let params = serde_json::to_value(PublishDiagnosticsParams { uri, diagnostics, version })?;
    send(
        connection,
        Message::Notification(Notification { method: PublishDiagnostics::METHOD.to_owned(), params }),
    )
}
