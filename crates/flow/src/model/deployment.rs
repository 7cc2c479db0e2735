//! Where the flow is served.

use indexmap::IndexMap;
use stave_canon::{Number, Value};
use stave_diag::Span;

use super::{Extra, Readable, Spanned, Text};

#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// The `deployment` key, at which what is missing is reported.
    pub key: Span,
    pub span: Span,
    pub target: Option<Spanned<DeploymentTarget>>,
    pub kserve: Option<Kserve>,
    /// Context fields that the deployment fills itself.
    pub context: Readable<DeploymentContext>,
    pub extra: Vec<Extra>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeploymentTarget {
    Kserve,
    Lambda,
    Local,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Kserve {
    pub span: Span,
    pub namespace: Option<Text>,
    pub service_name: Option<Text>,
    pub min_replicas: Option<Spanned<u64>>,
    pub max_replicas: Option<Spanned<u64>>,
    pub target_rps: Option<Spanned<Number>>,
    pub resources: Option<Resources>,
    pub extra: Vec<Extra>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Resources {
    pub span: Span,
    pub cpu: Option<Text>,
    pub memory: Option<Text>,
    pub gpu: Option<Text>,
    pub extra: Vec<Extra>,
}

/// Where the deployment takes context fields from, by field name.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentContext {
    pub span: Span,
    pub fields: IndexMap<String, Spanned<ContextSource>>,
}

/// One source of a context field: `{value: …}`, `{env: NAME}` or `{header: NAME}`; a plain value is a
/// constant.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextSource {
    Constant(Value),
    Environment(String),
    Header(String),
}
