//! The files of an image: the one list that container files and Lambda packages are made from.
//!
//! Invariant: an image holds the artefacts of its own flow and run, and no other tenant's.

use std::collections::BTreeSet;

use super::Service;
use crate::bundle::{bundle_path, coordination_path, ir_path, orchestration_path};
use crate::manifest::manifest_path;

/// The list of the exec documents of an image.
pub const IMAGE_MANIFEST: &str = "manifest.json";

/// The files of a service's image, by their paths below the folder that the program starts in. The build context has them
/// under the same paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePackage {
    /// The exec document that is served.
    pub document: String,
    pub files: BTreeSet<String>,
}

impl ImagePackage {
    /// `project_files` are what the project needs while its flows run: settings, features, models, knowledge.
    #[must_use]
    pub fn new(
        service: &Service,
        document: String,
        project_files: impl IntoIterator<Item = String>,
    ) -> ImagePackage {
        let run_id = service.run_id.as_str();
        let of_run = [
            ir_path(run_id),
            bundle_path(run_id),
            coordination_path(run_id),
            orchestration_path(run_id),
            manifest_path(run_id),
        ];
        let mut files: BTreeSet<String> = of_run.into_iter().collect();
        files.extend(service.snapshot.clone());
        files.extend([IMAGE_MANIFEST.to_owned(), document.clone()]);
        files.extend(project_files);
        ImagePackage { document, files }
    }

    /// The files and folders at the top of the build context, folders with a `/` at the end. They hold nothing else, so
    /// that a container file copies whole folders and keeps few layers.
    #[must_use]
    pub fn top_level(&self) -> BTreeSet<String> {
        let tops = self.files.iter().map(|path| match path.split_once('/') {
            Some((folder, _)) => format!("{folder}/"),
            None => path.clone(),
        });
        tops.collect()
    }
}
