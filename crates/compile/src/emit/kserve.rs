//! `kserve`: how each flow with a `deployment` is served. A KServe manifest for `kserve`, a package with its
//! handler for `lambda`; a container file for all but `lambda`, since `local` is the built-in server.

use stave_diag::LineColumn;
use stave_flow::deployment_faults;
use stave_project::exit::Stop;
use stave_system::deploy::{
    Service, ServiceTarget, container_file, kserve_manifest, lambda_handler, lambda_package, services,
};

use super::projection;
use super::{Before, Emitter, Tree};
use crate::compilation::{Compilation, CompiledFlow};

const FOLDER: &str = "deploy/";

#[derive(Debug)]
pub(super) struct Kserve;

impl Emitter for Kserve {
    fn word(&self) -> &'static str {
        "kserve"
    }

    fn roots(&self) -> &'static [&'static str] {
        &["deploy"]
    }

    fn owns(&self, path: &str) -> bool {
        let Some(name) = path.strip_prefix(FOLDER) else { return false };
        name.ends_with(".yaml") || name.ends_with(".Containerfile") || name.contains(".lambda/")
    }

    /// A service that would lose data is no reason to refuse a compile that was not asked to deploy it.
    fn refuse(&self, compilation: &Compilation) -> Result<(), Stop> {
        let flows = compilation.flows.iter().filter_map(CompiledFlow::flow);
        if let Some(fault) = flows.flat_map(deployment_faults).next() {
            let file = compilation.sources.name(fault.primary.source);
            let place =
                compilation.sources.place(fault.primary).map_or(LineColumn::FIRST, |(place, _)| place);
            let at = format!("{file}:{}:{}", place.line, place.column);
            let stop = Stop::invalid(format!("{at}: {} [{}]", fault.message, fault.code));
            return Err(match fault.help {
                Some(help) => stop.help(help),
                None => stop,
            });
        }
        for (service, _) in
            of(compilation, &mut Tree::default())?.iter().map(|(service, name, _)| (service, name))
        {
            service.check().map_err(|error| {
                Stop::invalid(error.to_string())
                    .help("a shared backend such as `backend: redis` keeps every replica's sessions")
            })?;
        }
        Ok(())
    }

    fn emit(&self, compilation: &Compilation, _: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
        for (service, name, options) in of(compilation, tree)? {
            match service.target {
                ServiceTarget::Kserve => match kserve_manifest(&service, &options) {
                    Ok(manifest) => tree.add(format!("{FOLDER}{name}.yaml"), manifest),
                    Err(error) => {
                        tree.warn(format!("no deployment was written: {error}"));
                        continue;
                    }
                },
                ServiceTarget::Lambda => {
                    tree.add(format!("{FOLDER}{name}.lambda/bootstrap"), lambda_handler(&name));
                    tree.add(format!("{FOLDER}{name}.lambda/package.json"), lambda_package(&service, &name));
                    continue;
                }
                ServiceTarget::Local => {}
            }
            tree.add(format!("{FOLDER}{name}.Containerfile"), container_file(&service, &name));
        }
        Ok(())
    }
}

/// Every service with the name of its files and its project's options.
fn of(
    compilation: &Compilation,
    tree: &mut Tree,
) -> Result<Vec<(Service, String, stave_system::deploy::DeployOptions)>, Stop> {
    let mut found = Vec::new();
    for projection in projection::project(compilation)? {
        projection.warn(tree);
        let bundled = projection.bundle()?;
        for service in services(&bundled.bundle) {
            if let Some(name) = projection.file_name(&service.flow) {
                found.push((
                    service.clone(),
                    name.to_owned(),
                    projection.scope.project.settings.deploy.clone(),
                ));
            }
        }
    }
    Ok(found)
}
