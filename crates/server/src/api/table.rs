//! Every operation of the server. A path and method that the table does not have is for nobody.
//!
//! Of two templates that fit a path, the first one counts. `docs/serve.md` lists the same operations with their roles.

use stave_runtime::journal::RunStatus;
use stave_runtime::report_document::RunReportDocument;
use stave_shape::Shape;

use super::gateway_types::{GatewayRecords, GroupBy, NoGateway};
use super::line_types::Lines;
use super::project_types::{FileText, FlowFiles, Palette, Session, WriteFile, WrittenFile};
use super::run_view_types::{Comparison, NodeRunWhole, RunText, RunView};
use super::text_types::{
    Analysis, ChatText, Completions, Connectable, ConnectableEnd, EditText, Edited, FileSubject,
    FormattedText, Hover, Proposed, Ranges, Subject, SubjectAt,
};
use super::{
    Body, CancelledRun, Content, Decide, Either, Endpoint, InferRequest, InferResponse, Live, ModelMetadata,
    ModelReadiness, Models, Operation, Parameter, ParameterSchema, Place, Readiness, ReplayRun, ResumeRun,
    RunDetail, RunPage, RunQuestions, RunStanding, ServerMetadata, StartRun, StartedReplay, StartedRun,
    StudioEndpoint as Call, WaitingRun, WireType,
};
use crate::roles::{Need, Role};

/// Keys that run or observe flows may list them.
const KNOWS: Need = Need::Role(&[Role::Run, Role::Observe]);
const RUN: Need = Need::Role(&[Role::Run]);
const DECIDE: Need = Need::Role(&[Role::Decide]);
const OBSERVE: Need = Need::Role(&[Role::Observe]);
/// A key that decides has to see the question.
const ASKED: Need = Need::Role(&[Role::Decide, Role::Observe]);
const EDIT: Need = Need::Role(&[Role::Edit]);

const fn json<T: Shape>() -> Content {
    Content::Json(WireType::of::<T>())
}

const fn body<T: Shape>() -> Body {
    Body::Needed(WireType::of::<T>())
}

const fn optional_body<T: Shape>() -> Body {
    Body::Optional(WireType::of::<T>())
}

const fn get(path: &'static str, endpoint: Endpoint, id: &'static str, about: &'static str) -> Operation {
    Operation::new("GET", path, endpoint, id, about)
}

const fn post(path: &'static str, endpoint: Endpoint, id: &'static str, about: &'static str) -> Operation {
    Operation::new("POST", path, endpoint, id, about)
}

const fn query(name: &'static str, schema: &'static str) -> Parameter {
    let schema = ParameterSchema::Text(schema);
    Parameter { name, place: Place::Query, is_required: false, schema }
}

const fn header(name: &'static str, schema: &'static str) -> Parameter {
    let schema = ParameterSchema::Text(schema);
    Parameter { name, place: Place::Header, is_required: false, schema }
}

const fn needed(name: &'static str) -> Parameter {
    let schema = ParameterSchema::Text(STRING);
    Parameter { name, place: Place::Query, is_required: true, schema }
}

const fn query_of<T: Shape>(name: &'static str) -> Parameter {
    let schema = ParameterSchema::Type(WireType::of::<T>());
    Parameter { name, place: Place::Query, is_required: false, schema }
}

const STRING: &str = r#"{"type": "string"}"#;

/// The key that lets a request be sent again.
const IDEMPOTENCY_KEY: Parameter =
    header("idempotency-key", r#"{"type": "string", "pattern": "^[!-~]{1,255}$"}"#);

const RUN_LIST: &[Parameter] = &[
    query("flow", STRING),
    query_of::<RunStatus>("status"),
    query("limit", r#"{"type": "integer", "minimum": 1, "maximum": 1000}"#),
    query("cursor", r#"{"type": "string", "pattern": "^-?[0-9]+[.].+$"}"#),
];
const STARTED: &[Parameter] = &[query("wait", r#"{"type": "boolean"}"#), IDEMPOTENCY_KEY];
const STARTED_MODEL: &[Parameter] = &[IDEMPOTENCY_KEY];
const FOLLOWED: &[Parameter] = &[header("last-event-id", STRING)];
const FILE: &[Parameter] = &[needed("path")];
const COMPARED: &[Parameter] = &[needed("a"), needed("b")];
const GATEWAY: &[Parameter] = &[
    query("project", STRING),
    query_of::<GroupBy>("by"),
    query("hours", r#"{"type": "integer", "minimum": 1, "maximum": 8784}"#),
];

pub(crate) static TABLE: &[Operation] = &[
    get("/", Endpoint::Page, "page", "The studio's page").answers(Content::Media("text/html")),
    get("/assets/{file}", Endpoint::Asset, "asset", "A file of the studio's page")
        .answers(Content::Media("application/octet-stream")),
    get("/v2", Endpoint::Server, "server", "Name and version of the server")
        .answers(json::<ServerMetadata>()),
    get("/v2/health/live", Endpoint::Live, "live", "Whether the process works").answers(json::<Live>()),
    get("/v2/health/ready", Endpoint::Ready, "ready", "Whether runs are taken")
        .answers(json::<Readiness>())
        .or(503, json::<Readiness>()),
    get("/v1/models", Endpoint::V1Models, "v1Models", "Names of the flows")
        .needs(KNOWS)
        .answers(json::<Models>()),
    post("/v1/models/{name}:predict", Endpoint::Predict, "predict", "Runs the flow")
        .needs(RUN)
        .parameters(STARTED_MODEL)
        .takes(Body::FlowRequest)
        .or(202, json::<WaitingRun>()),
    get("/v1/models/{name}", Endpoint::V1Model, "v1Model", "Whether the flow can be run")
        .needs(KNOWS)
        .answers(json::<ModelReadiness>()),
    get("/v2/models", Endpoint::V2Models, "v2Models", "Names of the flows")
        .needs(KNOWS)
        .answers(json::<Models>()),
    get("/v2/models/{name}", Endpoint::V2Model, "v2Model", "What the flow takes and gives")
        .also_at("/v2/models/{name}/versions/{version}")
        .needs(KNOWS)
        .answers(json::<ModelMetadata>()),
    get("/v2/models/{name}/ready", Endpoint::V2ModelReady, "v2ModelReady", "Whether the flow can be run")
        .also_at("/v2/models/{name}/versions/{version}/ready")
        .needs(KNOWS)
        .answers(json::<ModelReadiness>())
        .or(503, json::<ModelReadiness>()),
    post("/v2/models/{name}/infer", Endpoint::Infer, "infer", "Runs the flow")
        .also_at("/v2/models/{name}/versions/{version}/infer")
        .needs(RUN)
        .parameters(STARTED_MODEL)
        .takes(body::<InferRequest>())
        .answers(json::<InferResponse>())
        .or(202, json::<WaitingRun>()),
    get("/runs", Endpoint::Runs, "runs", "Runs, the newest first")
        .needs(OBSERVE)
        .parameters(RUN_LIST)
        .answers(json::<RunPage>()),
    post(
        "/runs",
        Endpoint::StartRun,
        "startRun",
        "Begins a run and answers at once; with `?wait` when it has ended",
    )
    .needs(RUN)
    .parameters(STARTED)
    .takes(body::<StartRun>())
    .answers(json::<Either<RunReportDocument, StartedRun>>())
    .or(202, json::<Either<RunReportDocument, StartedRun>>()),
    get("/runs/{run}", Endpoint::Run, "run", "The status of a run, with each of its nodes")
        .needs(OBSERVE)
        .answers(json::<RunDetail>()),
    get("/runs/{run}/questions", Endpoint::Questions, "questions", "What a run asks people to decide")
        .needs(ASKED)
        .answers(json::<RunQuestions>()),
    get("/runs/{run}/events", Endpoint::Events, "events", "What happens in a run, as server-sent events")
        .needs(OBSERVE)
        .parameters(FOLLOWED)
        .answers(Content::Media("text/event-stream")),
    post("/runs/{run}/cancel", Endpoint::Cancel, "cancelRun", "Ends a run, or asks it to end")
        .needs(RUN)
        .answers(json::<CancelledRun>())
        .or(202, json::<CancelledRun>()),
    post("/runs/{run}/resume", Endpoint::Resume, "resumeRun", "Continues a run that was interrupted")
        .needs(RUN)
        .takes(optional_body::<ResumeRun>())
        .answers(json::<RunStanding>())
        .or(202, json::<RunStanding>()),
    post(
        "/runs/{run}/replay",
        Endpoint::Replay,
        "replayRun",
        "Runs the document of a run that has ended again, from a node on or from what failed",
    )
    .needs(RUN)
    .takes(optional_body::<ReplayRun>())
    .answers(json::<StartedReplay>())
    .or(202, json::<StartedReplay>()),
    post(
        "/runs/{run}/nodes/{node}/decision",
        Endpoint::Decide,
        "decide",
        "A person's decision, after which the run continues",
    )
    .needs(DECIDE)
    .takes(body::<Decide>())
    .answers(json::<RunStanding>())
    .or(202, json::<RunStanding>()),
    get("/openapi.json", Endpoint::OpenApi, "openapi", "This document").needs(Need::Key),
    get("/metrics", Endpoint::Metrics, "metrics", "What Prometheus collects")
        .needs(OBSERVE)
        .answers(Content::Media("text/plain")),
    post("/mcp", Endpoint::Mcp, "mcp", "Messages of the Model Context Protocol")
        .needs(RUN)
        .parameters(STARTED_MODEL)
        .takes(Body::Message),
    get("/studio/session", Endpoint::Studio(Call::Session), "session", "What the page needs to know first")
        .needs(Need::Key)
        .answers(json::<Session>()),
    get("/studio/files", Endpoint::Studio(Call::Files), "files", "The flow files of the projects")
        .needs(OBSERVE)
        .answers(json::<FlowFiles>()),
    get("/studio/file", Endpoint::Studio(Call::File), "file", "The text of a flow file")
        .needs(OBSERVE)
        .parameters(FILE)
        .answers(json::<FileText>()),
    Operation::new(
        "PUT",
        "/studio/file",
        Endpoint::Studio(Call::WriteFile),
        "writeFile",
        "Writes a flow file that is what it was when it was read",
    )
    .needs(EDIT)
    .takes(body::<WriteFile>())
    .answers(json::<WrittenFile>()),
    post(
        "/studio/analyse",
        Endpoint::Studio(Call::Analyse),
        "analyse",
        "What is wrong with a text, and its graph",
    )
    .needs(OBSERVE)
    .takes(body::<Subject>())
    .answers(json::<Analysis>()),
    post(
        "/studio/connectable",
        Endpoint::Studio(Call::Connectable),
        "connectable",
        "What an end of an edge can be connected with",
    )
    .needs(OBSERVE)
    .takes(body::<ConnectableEnd>())
    .answers(json::<Connectable>()),
    post("/studio/hover", Endpoint::Studio(Call::Hover), "hover", "What is at a place of a text")
        .needs(OBSERVE)
        .takes(body::<SubjectAt>())
        .answers(json::<Hover>()),
    post(
        "/studio/completion",
        Endpoint::Studio(Call::Completion),
        "completion",
        "What could be written at a place of a text",
    )
    .needs(EDIT)
    .takes(body::<SubjectAt>())
    .answers(json::<Completions>()),
    post("/studio/definition", Endpoint::Studio(Call::Definition), "definition", "Where a name is defined")
        .needs(OBSERVE)
        .takes(body::<SubjectAt>())
        .answers(json::<Ranges>()),
    post("/studio/references", Endpoint::Studio(Call::References), "references", "Where a name is used")
        .needs(OBSERVE)
        .takes(body::<SubjectAt>())
        .answers(json::<Ranges>()),
    post("/studio/format", Endpoint::Studio(Call::Format), "format", "A text in the usual form")
        .needs(EDIT)
        .takes(body::<Subject>())
        .answers(json::<FormattedText>()),
    post("/studio/edit", Endpoint::Studio(Call::Edit), "edit", "What commands make of a text")
        .needs(EDIT)
        .takes(body::<EditText>())
        .answers(json::<Edited>()),
    post("/studio/chat", Endpoint::Studio(Call::Chat), "chat", "What a sentence makes of a text")
        .needs(EDIT)
        .takes(body::<ChatText>())
        .answers(json::<Proposed>()),
    get("/studio/commands", Endpoint::Studio(Call::Commands), "commands", "The JSON Schema of edit commands")
        .needs(Need::Key),
    get("/studio/palette", Endpoint::Studio(Call::Palette), "palette", "The nodes that can be added")
        .needs(Need::Key)
        .answers(json::<Palette>()),
    post("/studio/lines", Endpoint::Studio(Call::Lines), "lines", "A flow as all lines at once")
        .needs(OBSERVE)
        .takes(body::<FileSubject>())
        .answers(json::<Lines>()),
    // What is not served needs `edit` too, which only the handler knows.
    post("/studio/run", Endpoint::Studio(Call::Run), "runText", "Runs a file, or a text that is not saved")
        .needs(RUN)
        .parameters(STARTED_MODEL)
        .takes(body::<RunText>())
        .answers(json::<StartedRun>())
        .or(202, json::<StartedRun>()),
    get("/studio/runs/{run}", Endpoint::Studio(Call::RunView), "runView", "A run with every node and edge")
        .needs(OBSERVE)
        .answers(json::<RunView>()),
    get(
        "/studio/runs/{run}/nodes/{node}",
        Endpoint::Studio(Call::NodeView),
        "nodeView",
        "A node of a run with what models were asked",
    )
    .needs(OBSERVE)
    .answers(json::<NodeRunWhole>()),
    get("/studio/compare", Endpoint::Studio(Call::Compare), "compare", "Two runs beside each other")
        .needs(OBSERVE)
        .parameters(COMPARED)
        .answers(json::<Comparison>()),
    get("/studio/gateway", Endpoint::Studio(Call::Gateway), "gateway", "What a project's gateway recorded")
        .needs(OBSERVE)
        .parameters(GATEWAY)
        .answers(json::<Either<GatewayRecords, NoGateway>>()),
];
