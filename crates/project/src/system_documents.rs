//! System documents and bundles from files. They may be far larger than flows.

use std::path::{Path, PathBuf};

use stave_canon::Value;
use stave_system::bundle::{Bundle, ir_path};
use stave_system::{LoadError, SystemDocument, strip};

use crate::admission::artefacts as admission;
use crate::exit::Stop;
use crate::files;
use crate::project::Project;

/// The ending of a bundle's name in an output tree.
const BUNDLE_ENDING: &str = ".runtime_bundle.json";

/// The largest document that is read.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// What a file of the system line holds.
#[derive(Debug)]
pub enum Artefact {
    Document(SystemDocument),
    Bundle(Bundle),
}

/// The text of a document or bundle.
pub fn read(path: &Path) -> Result<String, Stop> {
    let bytes = files::read_named(path, MAX_BYTES).map_err(|error| error.about(path))?;
    String::from_utf8(bytes)
        .map_err(|_| Stop::invalid(format!("{} can't be read: it is not UTF-8 text", path.display())))
}

/// A document or a bundle that keeps every rule of the specification, and that its project lets in.
pub fn open(path: &Path) -> Result<Artefact, Stop> {
    open_in(path, &admission::project_of(path)?)
}

/// The same for a project that uses the file, wherever the file lies.
pub fn open_in(path: &Path, project: &Project) -> Result<Artefact, Stop> {
    let text = read(path)?;
    if is_bundle(&text) {
        admission::admit(path, &text, project)?;
        let bundle = Bundle::from_text(&text).map_err(|error| invalid(path, "runtime bundle", &error))?;
        return Ok(Artefact::Bundle(bundle));
    }
    if project.settings.signing.required {
        admission::admit(path, &text, project)?;
    }
    let document =
        SystemDocument::from_text(&text).map_err(|error| invalid(path, "system document", &error))?;
    own(path, &document, project)?;
    Ok(Artefact::Document(document))
}

/// The document in a file: the one that it holds, or the one that the bundle in it was made from.
pub fn load(path: &Path) -> Result<SystemDocument, Stop> {
    let project = admission::project_of(path)?;
    system_of(open_in(path, &project)?, path, &project)
}

/// The document of what a file holds.
pub fn system_of(artefact: Artefact, path: &Path, project: &Project) -> Result<SystemDocument, Stop> {
    match artefact {
        Artefact::Document(document) => Ok(document),
        Artefact::Bundle(bundle) => {
            let document = document_of(&bundle, path, project)?;
            let named = bundle.value().pointer("/system_ir_ref/fingerprint").and_then(Value::as_str);
            if named != Some(document.fingerprint().as_str()) {
                let stop =
                    Stop::invalid(format!("{}: document hash does not match its reference", path.display()));
                return Err(stop.help(format!("`stave bundle check {}` says more", path.display())));
            }
            Ok(document)
        }
    }
}

/// The document of a bundle: the one it refers to when that lies where it should, else the inline one.
pub fn document_of(bundle: &Bundle, file: &Path, project: &Project) -> Result<SystemDocument, Stop> {
    document_of_run(plain_run_id(bundle)?, bundle, file, project)
}

/// The document of a bundle, beside which the files of this run lie.
pub fn document_of_run(
    run_id: &str,
    bundle: &Bundle,
    file: &Path,
    project: &Project,
) -> Result<SystemDocument, Stop> {
    let beside = root_of(file).map(|root| root.join(ir_path(run_id))).filter(|path| path.is_file());
    if let Some(path) = beside {
        let document = SystemDocument::from_text(&read(&path)?)
            .map_err(|error| invalid(&path, "system document", &error))?;
        own(&path, &document, project)?;
        return Ok(document);
    }
    if let Some(inline) = bundle.value().get("system_ir").filter(|inline| !inline.is_null()) {
        return SystemDocument::from_value(inline)
            .map_err(|error| Stop::invalid(format!("the inline document is invalid:\n{error}")));
    }
    let stop = Stop::invalid(format!("the document of {} is neither inline nor beside it", file.display()));
    Err(stop.help("name it: stave bundle check BUNDLE --ir DOCUMENT"))
}

/// The run id, as long as it can be a part of a file's name.
pub fn plain_run_id(bundle: &Bundle) -> Result<&str, Stop> {
    let run_id = bundle.text("run_id");
    if run_id.contains(['/', '\\', '\0']) || run_id.starts_with('.') {
        return Err(Stop::refused(format!("the run id {run_id:?} could leave its folder")));
    }
    Ok(run_id)
}

/// The run whose files lie beside a bundle: the one that the file's name says in an output tree, else the bundle's own.
pub fn run_id_beside<'b>(bundle: &'b Bundle, file: &'b Path) -> Result<&'b str, Stop> {
    let name = file.file_name().and_then(|name| name.to_str());
    let named = name.and_then(|name| name.strip_suffix(BUNDLE_ENDING)).filter(|run_id| !run_id.is_empty());
    match named.filter(|_| root_of(file).is_some()) {
        Some(run_id) => Ok(run_id),
        None => plain_run_id(bundle),
    }
}

/// The folder that a bundle at `.akc/runtime/…` lies in.
pub fn root_of(file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    let runtime = file.parent()?;
    let akc = runtime.parent()?;
    (runtime.file_name()? == "runtime" && akc.file_name()? == ".akc")
        .then(|| akc.parent().map(Path::to_path_buf))?
}

/// Whether a text is that of a runtime bundle, whatever else is wrong with it.
pub fn is_bundle(text: &str) -> bool {
    let mut nodes = Passing;
    let options = stave_canon::ParseOptions { non_finite: true, ..Default::default() };
    stave_canon::parse_each(text, options, "nodes", &mut nodes).is_ok_and(|value| {
        let id = value.get("schema_id").and_then(Value::as_str).unwrap_or_default();
        id.starts_with("akc:runtime_bundle:") || value.get("referenced_ir_nodes").is_some()
    })
}

/// Nodes that are not looked at, so that a large document is not held as a tree to find out what it is.
struct Passing;

impl stave_canon::Items for Passing {
    fn begin(&mut self) {}

    fn item(&mut self, _: Value) {}
}

/// A document of another tenant is not this project's. Without a project file there is no tenant to hold it
/// against.
fn own(path: &Path, document: &SystemDocument, project: &Project) -> Result<(), Stop> {
    let (found, own) = (strip(&document.tenant_id), project.tenant());
    if project.has_file && found != own {
        let message =
            format!("{} is refused: it belongs to tenant {found:?}, not to {own:?}", path.display());
        return Err(Stop::refused(message));
    }
    Ok(())
}

fn invalid(path: &Path, what: &str, error: &LoadError) -> Stop {
    let stop = Stop::invalid(format!("{} is not a {what}:\n{error}", path.display()));
    let command = if what == "runtime bundle" { "bundle check" } else { "system validate" };
    stop.help(format!("`stave {command} {}` shows where", path.display()))
}
