//! Bodies of the health checks and of KServe's two protocols.

use stave_canon::{Object, Value};
use stave_runtime::journal::RunStatus;
use stave_shape::{Nullable, Shape};

/// That the process works.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Live {
    pub(crate) live: bool,
}

/// Whether runs are taken.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct Readiness {
    pub(crate) ready: bool,
    pub(crate) quarantined_runs: u64,
    /// Why runs are not taken.
    pub(crate) reasons: Option<Vec<String>>,
    /// How many files are not served as they are.
    pub(crate) not_served: Option<u64>,
}

/// Name and version of the server.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ServerMetadata {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) extensions: Vec<String>,
}

/// The flows, and the files that are not served as they are.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Models {
    pub(crate) models: Vec<String>,
    #[shape(not_null)]
    pub(crate) not_served: Option<Vec<UnservedFile>>,
}

/// A file that is not served as it is.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct UnservedFile {
    pub(crate) file: String,
    /// The flow whose earlier version is served instead.
    pub(crate) served: Nullable<String>,
    pub(crate) reason: String,
    /// The code of the reason, when it has one.
    pub(crate) code: Nullable<String>,
    /// Where the mistake is, which may be in another file.
    pub(crate) at: Nullable<MistakePlace>,
}

/// A line of a file, counted from 1.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct MistakePlace {
    pub(crate) file: String,
    pub(crate) line: u64,
}

/// Whether a flow can be run, and why not.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ModelReadiness {
    pub(crate) name: String,
    pub(crate) ready: bool,
    #[shape(not_null)]
    pub(crate) reason: Option<String>,
}

/// What a flow takes and gives, as tensors.
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

/// A tensor. That its shape and data agree is more than a schema can say, so `tensor.rs` reads it.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) datatype: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) data: Vec<Value>,
    pub(crate) parameters: Option<Object>,
}

/// One tensor of whole requests, or one for each field of the flow.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct InferRequest {
    pub(crate) id: Option<String>,
    #[shape(filled)]
    pub(crate) inputs: Vec<Tensor>,
}

/// The outputs, a JSON text each.
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
    /// The runs, with commas between them.
    pub(crate) run_ids: String,
    pub(crate) failed: u64,
}

/// JSON texts, one for each request.
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
    pub(crate) node: String,
}
