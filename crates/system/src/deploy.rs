//! Deployment of a bundle's services: manifests for KServe, a container file, a Lambda package.
//!
//! Everything is made from `deployment_intents` and the nodes they name, and from nothing else.
//!
//! Invariant: no secret is in what is made; secrets are referred to by name.

mod container;
mod kserve;
mod lambda;
mod service;
mod yaml;

use thiserror::Error;

pub use container::container_file;
pub use kserve::kserve_manifest;
pub use lambda::{lambda_handler, lambda_package};
pub use service::{Service, ServiceTarget, services};

/// What the project adds to its deployments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeployOptions {
    /// The image to run; the service's name and the run when absent.
    pub image: Option<String>,
    /// Put before the image's name when no image is given.
    pub registry: Option<String>,
}

/// Why a service cannot be deployed as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeployError {
    #[error(
        "`{service}` keeps session state in memory and may have {replicas} replicas: each would remember other conversations"
    )]
    SessionStateInMemory { service: String, replicas: u64 },
    #[error("`{service}` has at least {least} replicas and at most {most}")]
    ReplicasReversed { service: String, least: u64, most: u64 },
    #[error("`{service}` has a target of {rate} requests per second, which is not above 0")]
    Rate { service: String, rate: String },
    #[error("`{service}` asks for {what} {quantity:?}, which is no quantity of Kubernetes")]
    Quantity { service: String, what: &'static str, quantity: String },
}
