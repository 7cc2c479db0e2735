//! `kserve`: how each flow with a `deployment` is served. A manifest for `kserve` at `deploy/NAME.yaml`, and for every
//! target a build context of its own, `deploy/NAME/`: the files of the image, with a container file for `kserve` and `local`
//! and the handler for `lambda`.
//!
//! Invariant: a build context holds everything that its container file or package lists, whatever else is emitted, and
//! nothing of another tenant.

use std::collections::BTreeMap;

use stave_canon::sha256_hex;
use stave_diag::{Diagnostic, LineColumn};
use stave_exec::manifest;
use stave_flow::deployment_faults;
use stave_operations::{HOPSWORKS_READ_FEATURES, HOPSWORKS_WRITE_FEATURES};
use stave_project::exit::Stop;
use stave_system::deploy::{
    IMAGE_MANIFEST, ImagePackage, Service, ServiceTarget, container_file, kserve_manifest, lambda_handler,
    lambda_package, services,
};
use stave_system::sign::ENDING;

use super::{Before, Emitter, Tree, bundle, exec, projection, system};
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
        path.strip_prefix(FOLDER).is_some_and(|path| path.contains('/') || path.ends_with(".yaml"))
            || path.ends_with(".Containerfile") && path.starts_with(FOLDER)
    }

    /// A service that would lose data is no reason to refuse a compile that was not asked to deploy it.
    fn refuse(&self, compilation: &Compilation) -> Result<(), Stop> {
        let Some(fault) = compilation.flows.iter().flat_map(faults).next() else { return Ok(()) };
        let file = compilation.sources.name(fault.primary.source);
        let place = compilation.sources.place(fault.primary).map_or(LineColumn::FIRST, |(place, _)| place);
        let at = format!("{file}:{}:{}", place.line, place.column);
        let stop = Stop::invalid(format!("{at}: {} [{}]", fault.message, fault.code));
        Err(match fault.help {
            Some(help) => stop.help(help),
            None => stop,
        })
    }

    fn emit(&self, compilation: &Compilation, before: &Before<'_>, tree: &mut Tree) -> Result<(), Stop> {
        let deployed = deployed(compilation, tree)?;
        if deployed.is_empty() {
            return Ok(());
        }
        let artefacts = artefacts(compilation, &deployed, before)?;
        for one in &deployed {
            if let Some(fault) = faults(one.flow).first() {
                tree.warn(format!("no deployment was written: {}", fault.message));
                continue;
            }
            one.emit(&artefacts, tree);
        }
        Ok(())
    }
}

/// What must not be deployed of a flow.
fn faults(flow: &CompiledFlow) -> Vec<Diagnostic> {
    let stores = flow.project.settings.shared_stores();
    flow.flow().map(|flow| deployment_faults(flow, stores)).unwrap_or_default()
}

/// A service with the flow that it serves.
struct Deployed<'c> {
    service: Service,
    flow: &'c CompiledFlow,
    image_files: BTreeMap<String, Vec<u8>>,
}

impl Deployed<'_> {
    fn emit(&self, artefacts: &Tree, tree: &mut Tree) {
        let (service, name) = (&self.service, self.flow.file_name.as_str());
        let document = exec::document_path(name);
        let package = ImagePackage::new(service, document, self.image_files.keys().cloned());
        let mut add = |path: &str, bytes: Vec<u8>| tree.add(format!("{FOLDER}{name}/{path}"), bytes);
        for path in &package.files {
            let own = path == IMAGE_MANIFEST;
            let own = own.then(|| manifest::encode(&[exec::entry(self.flow)]).into());
            let bytes = own.or_else(|| self.image_files.get(path).cloned());
            let Some(bytes) = bytes.or_else(|| artefacts.files.get(path).cloned()) else { continue };
            add(path, bytes);
            let signature = format!("{path}{ENDING}");
            if let Some(signed) = artefacts.files.get(&signature) {
                add(&signature, signed.clone());
            }
        }
        match service.target {
            ServiceTarget::Lambda => {
                add("bootstrap", lambda_handler(&package).into());
                add("package.json", lambda_package(service, &package).into());
            }
            ServiceTarget::Kserve | ServiceTarget::Local => {
                add("Containerfile", container_file(service, &package).into());
            }
        }
        if service.target == ServiceTarget::Kserve {
            let options = &self.flow.project.settings.deploy;
            tree.add(format!("{FOLDER}{name}.yaml"), kserve_manifest(service, options));
        }
    }
}

/// Every service of a compilation.
fn deployed<'c>(compilation: &'c Compilation, tree: &mut Tree) -> Result<Vec<Deployed<'c>>, Stop> {
    let mut found = Vec::new();
    for projection in projection::project(compilation)? {
        projection.warn(tree);
        let bundled = projection.bundle()?;
        for mut service in services(&bundled.bundle) {
            let Some(flow) = projection.compiled(&service.flow) else { continue };
            service.secrets.extend(store_variables(&service, flow));
            let image_files = projection.scope.image_files.clone();
            let settings = image_files.get(stave_project::FILE).map(sha256_hex).unwrap_or_default();
            service.image_tag = format!("{}-{}", service.run_id, settings.get(..8).unwrap_or_default());
            found.push(Deployed { service, flow, image_files });
        }
    }
    Ok(found)
}

/// The variables with the addresses of the stores that a service uses. They may hold passwords, so they are secrets.
fn store_variables(service: &Service, flow: &CompiledFlow) -> Vec<String> {
    let settings = &flow.project.settings;
    let mut stores: Vec<&str> = service.session_state_backends.iter().map(String::as_str).collect();
    if !stores.is_empty() {
        stores.extend(settings.state_server());
    }
    let nodes = flow.flow().into_iter().flat_map(|flow| flow.nodes.values());
    let mut operations =
        nodes.filter_map(stave_flow::model::Node::descriptor).map(|operation| operation.name);
    let features = [HOPSWORKS_READ_FEATURES.name, HOPSWORKS_WRITE_FEATURES.name];
    if settings.shared_stores().features && operations.any(|name| features.contains(&name)) {
        stores.push("hopsworks");
    }
    stores.into_iter().filter_map(|store| settings.store_variable(store)).collect()
}

/// The artefacts that images hold, made for them alone: a compile need not emit them too. What a build context holds stays
/// as it is where nothing but a time would change.
fn artefacts(
    compilation: &Compilation,
    deployed: &[Deployed<'_>],
    before: &Before<'_>,
) -> Result<Tree, Stop> {
    let kept = |path: &str| {
        let beside = || {
            let mut names = deployed.iter().map(|one| one.flow.file_name.as_str());
            names.find_map(|name| before(&format!("{FOLDER}{name}/{path}")))
        };
        before(path).or_else(beside)
    };
    let mut made = Tree::default();
    let emitters: [&dyn Emitter; 3] = [&exec::Exec, &system::System, &bundle::Bundle];
    for emitter in emitters {
        emitter.emit(compilation, &kept, &mut made)?;
    }
    Ok(made)
}
