//! The HTTP interface, declared once: each operation with its path, method, needed role, parameters, body and answers.
//!
//! The router, `Allow`, the names in metrics, the check of roles, the OpenAPI document and the studio's TypeScript types
//! all come from [`TABLE`]. Bodies are types with a `Shape`, which reads requests, writes replies and gives the schemas.
//!
//! Invariant: a handler answers with the type that its operation declares. Debug builds read each JSON reply back as
//! that type and so find a handler that answers with another one.

pub(crate) mod gateway_types;
pub(crate) mod graph_types;
pub(crate) mod line_types;
mod model_types;
mod problem_types;
mod project_types;
pub(crate) mod prompt_types;
mod run_types;
pub(crate) mod run_view_types;
mod table;
pub(crate) mod text_types;
mod wire_type;

use hyper::Method;

use crate::roles::Need;

pub(crate) use graph_types::Cast;
pub(crate) use model_types::*;
pub(crate) use problem_types::ProblemDocument;
pub(crate) use project_types::*;
pub(crate) use run_types::*;
pub(crate) use table::TABLE;
pub(crate) use wire_type::{Either, WireType, assert_declared};

/// What an operation is handled by. Each one belongs to exactly one row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Live,
    Ready,
    Server,
    V1Models,
    V1Model,
    Predict,
    V2Models,
    V2Model,
    V2ModelReady,
    Infer,
    Runs,
    StartRun,
    Run,
    /// What a run asks people.
    Questions,
    Events,
    Cancel,
    Resume,
    Decide,
    Replay,
    OpenApi,
    Metrics,
    /// Messages of the Model Context Protocol.
    Mcp,
    /// The page at the root.
    Page,
    /// A file of the page, by its path.
    Asset,
    Studio(StudioEndpoint),
}

/// The calls of the studio's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StudioEndpoint {
    Session,
    Files,
    File,
    WriteFile,
    Analyse,
    Connectable,
    Edit,
    Chat,
    Commands,
    Hover,
    Completion,
    Definition,
    References,
    Format,
    Palette,
    Lines,
    Run,
    RunView,
    NodeView,
    Compare,
    Gateway,
}

/// One operation: a method on a path.
#[derive(Debug)]
pub(crate) struct Operation {
    /// `GET` stands for `HEAD` too.
    pub(crate) method: &'static str,
    /// The template of the path, which metrics name.
    pub(crate) path: &'static str,
    /// Another path with the same meaning, which documents do not list.
    pub(crate) alias: Option<&'static str>,
    pub(crate) endpoint: Endpoint,
    pub(crate) id: &'static str,
    pub(crate) about: &'static str,
    pub(crate) need: Need,
    /// The parameters in the address and in headers; those of the path are in its template.
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<Body>,
    /// What is answered with status 200.
    pub(crate) ok: Content,
    /// Another status that is no problem document.
    pub(crate) other: Option<(u16, Content)>,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) is_required: bool,
    pub(crate) schema: ParameterSchema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Query,
    Header,
}

#[derive(Debug)]
pub(crate) enum ParameterSchema {
    /// A schema as JSON.
    Text(&'static str),
    Type(WireType),
}

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    /// A body that must be there.
    Needed(WireType),
    /// An empty body is an empty object.
    Optional(WireType),
    /// What the flow takes, or a batch of it.
    FlowRequest,
    /// A message of a protocol that has its own description.
    Message,
}

/// What an answer holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content {
    Json(WireType),
    /// JSON of which only the flow or another standard knows more.
    AnyJson,
    /// Something else, of this media type.
    Media(&'static str),
}

impl Operation {
    const fn new(
        method: &'static str,
        path: &'static str,
        endpoint: Endpoint,
        id: &'static str,
        about: &'static str,
    ) -> Operation {
        Operation {
            method,
            path,
            alias: None,
            endpoint,
            id,
            about,
            need: Need::Nothing,
            parameters: &[],
            body: None,
            ok: Content::AnyJson,
            other: None,
        }
    }

    const fn needs(mut self, need: Need) -> Operation {
        self.need = need;
        self
    }

    const fn also_at(mut self, alias: &'static str) -> Operation {
        self.alias = Some(alias);
        self
    }

    const fn parameters(mut self, parameters: &'static [Parameter]) -> Operation {
        self.parameters = parameters;
        self
    }

    const fn takes(mut self, body: Body) -> Operation {
        self.body = Some(body);
        self
    }

    const fn answers(mut self, content: Content) -> Operation {
        self.ok = content;
        self
    }

    const fn or(mut self, status: u16, content: Content) -> Operation {
        self.other = Some((status, content));
        self
    }

    /// Whether a request with this method is for this operation.
    pub(crate) fn is_for(&self, method: &Method) -> bool {
        let method = if method == Method::HEAD { Method::GET.as_str() } else { method.as_str() };
        self.method == method
    }

    /// The names in braces of the path.
    pub(crate) fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
    }

    /// The parameters that the address may have.
    pub(crate) fn query_names(&self) -> impl Iterator<Item = &'static str> {
        self.parameters.iter().filter(|one| one.place == Place::Query).map(|one| one.name)
    }

    /// Whether it is one of the calls that the studio's page makes.
    pub(crate) fn is_of_studio(&self) -> bool {
        matches!(self.endpoint, Endpoint::Studio(_) | Endpoint::Asset)
    }
}
