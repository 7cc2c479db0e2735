//! Bodies of the health checks and of KServe's two protocols.

use stave_canon::{Object, Value};
use stave_runtime::journal::RunStatus;
use stave_shape::{Nullable, Shape};

/// The process is running.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Live {
    pub(crate) live: bool,
}

/// Whether the server accepts runs.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct Readiness {
    pub(crate) ready: bool,
    pub(crate) quarantined_runs: u64,
    /// Why the server does not accept runs.
    pub(crate) reasons: Option<Vec<String>>,
    /// Number of files whose current version is not served.
    pub(crate) not_served: Option<u64>,
}

/// Name and version of the server.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ServerMetadata {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) extensions: Vec<String>,
}

/// The served flows, and the files whose current version is not served.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Models {
    pub(crate) models: Vec<String>,
    #[shape(not_null)]
    pub(crate) not_served: Option<Vec<UnservedFile>>,
}

/// A file whose current version is not served.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct UnservedFile {
    pub(crate) file: String,
    /// The flow that is served in an earlier version.
    pub(crate) served: Nullable<String>,
    pub(crate) reason: String,
    /// Diagnostic code of the reason, if there is one.
    pub(crate) code: Nullable<String>,
    /// Location of the error, possibly in another file.
    pub(crate) at: Nullable<MistakePlace>,
}

/// A line of a file, counted from 1.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct MistakePlace {
    pub(crate) file: String,
    pub(crate) line: u64,
}

/// Whether a flow is ready to run, and the reason if not.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ModelReadiness {
    pub(crate) name: String,
    pub(crate) ready: bool,
    #[shape(not_null)]
    pub(crate) reason: Option<String>,
}

/// Inputs and outputs of a flow, as tensors.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ModelMetadata {
    pub(crate) name: String,
    pub(crate) versions: Vec<String>,
    pub(crate) platform: String,
    pub(crate) inputs: Vec<TensorMetadata>,
    pub(crate) outputs: Vec<TensorMetadata>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct TensorMetadata {
    pub(crate) name: String,
    pub(crate) datatype: String,
    pub(crate) shape: Vec<i64>,
}

/// A tensor. The number of elements in `data` must match `shape`.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) datatype: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) data: Vec<Value>,
    pub(crate) parameters: Option<Object>,
}

/// One tensor of complete requests, or one tensor per field of the flow.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct InferRequest {
    pub(crate) id: Option<String>,
    #[shape(filled)]
    pub(crate) inputs: Vec<Tensor>,
}

/// One output per request, as JSON text.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct InferResponse {
    pub(crate) model_name: String,
    pub(crate) model_version: String,
    #[shape(not_null)]
    pub(crate) id: Option<String>,
    pub(crate) parameters: InferParameters,
    pub(crate) outputs: Vec<OutputTensor>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct InferParameters {
    /// Run ids, separated by commas.
    pub(crate) run_ids: String,
    pub(crate) failed: u64,
}

/// JSON texts, one per request.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct OutputTensor {
    pub(crate) name: String,
    pub(crate) datatype: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) data: Vec<String>,
}

/// A run that waits for a person.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct WaitingRun {
    pub(crate) run_id: String,
    pub(crate) status: RunStatus,
    /// The first node that asks.
    pub(crate) node: String,
    /// All nodes that ask, by the addresses to which decisions are sent.
    pub(crate) nodes: Vec<String>,
}
