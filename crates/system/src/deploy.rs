//! Deployment of a bundle's services: manifests for KServe, a container file, a Lambda package.
//!
//! Services are read from `deployment_intents` and the nodes they name. The check of flows has judged their values.
//!
//! Invariant: no secret is in what is made; secrets are referred to by name.

mod container;
mod kserve;
mod lambda;
mod package;
mod service;
mod yaml;

pub use container::container_file;
pub use kserve::kserve_manifest;
pub use lambda::{lambda_handler, lambda_package};
pub use package::{IMAGE_MANIFEST, ImagePackage};
pub use service::{Service, ServiceTarget, services};

/// What the project adds to its deployments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeployOptions {
    /// The image to run; the service's name and the run when absent.
    pub image: Option<String>,
    /// Put before the image's name when no image is given.
    pub registry: Option<String>,
}
