//! Admission of compiled artefacts: each must be the project's own, and must be signed when the project asks
//! for that.
//!
//! Invariant: with `[signing] required`, nothing that was compiled is acted on before a trusted key has
//! vouched for its bytes, either with a signature of its own or through the run manifest that lists them.

use std::path::{Path, PathBuf};

use stave_canon::{Clock, sha256_hex};
use stave_diag::{Diagnostic, Sources};
use stave_system::manifest::RunManifest;
use stave_system::sign::{Claim, ENDING, Signature, Trust, TrustRefusal, own_scope, verify};

use crate::exit::Stop;
use crate::files;
use crate::ports::SystemClock;
use crate::project::Project;
use crate::system_documents as documents;

/// Where the run manifests lie below the folder that a compile wrote.
const MANIFESTS: &str = ".akc/run";
const MANIFEST_ENDING: &str = ".manifest.json";
const EXEC_ENDING: &str = ".ir.json";

/// Lets a bundle, a run manifest or a system document in.
pub fn admit(file: &Path, text: &str, project: &Project) -> Result<(), Stop> {
    let refuse = |refusal: TrustRefusal| refused(file, &refusal);
    let repo = project.repo();
    if project.settings.signing.required {
        let signature = signature_of(file)?;
        let trust = trust(project, &repo, None);
        return verify(text, signature.as_ref(), trust, SystemClock.now()).map_err(refuse);
    }
    // Without a project file there is no tenant to hold an artefact against.
    match Claim::of(text) {
        Some(claim) if project.has_file => own_scope(&claim, project.tenant(), &repo).map_err(refuse),
        _ => Ok(()),
    }
}

/// Lets an exec document in. It names no owner of its own, so a signed run manifest must list its bytes.
pub(crate) fn admit_exec(file: &Path, text: &str, project: &Project) -> Result<(), Stop> {
    if !project.settings.signing.required {
        return Ok(());
    }
    let repo = project.repo();
    verify_exec(file, text, trust(project, &repo, None))
}

/// Whether a file is an exec document by its name.
pub fn is_exec(file: &Path) -> bool {
    file.to_string_lossy().ends_with(EXEC_ENDING)
}

/// The claim of the run manifests that may list an exec document.
pub fn exec_claim(file: &Path) -> Option<Claim> {
    manifests(file).iter().find_map(|manifest| Claim::of(&documents::read(manifest).ok()?))
}

/// Accepts an exec document when a run manifest lists its bytes and is signed as `trust` says.
pub fn verify_exec(file: &Path, text: &str, trust: Trust<'_>) -> Result<(), Stop> {
    let own = exec_hash(text);
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let trust = Trust { name: Some(name.strip_suffix(EXEC_ENDING).unwrap_or(&name)), ..trust };
    let now = SystemClock.now();
    let mut reason = TrustRefusal::Unsigned;
    for manifest in manifests(file) {
        let text = documents::read(&manifest)?;
        let signature = signature_of(&manifest)?;
        if let Err(refusal) = verify(&text, signature.as_ref(), trust, now) {
            reason = refusal;
            continue;
        }
        // A manifest that is signed and cannot be read vouches for nothing.
        let Ok(manifest) = RunManifest::from_text(&text) else { continue };
        match manifest.exec_hashes.get(&format!("flows/{name}")) {
            Some(hash) if *hash == own => return Ok(()),
            Some(_) => reason = TrustRefusal::Tampered,
            None => {}
        }
    }
    let stop = refused(file, &reason);
    Err(match reason {
        TrustRefusal::Unsigned => stop.help(
            "compile with --emit exec,bundle, then sign what lists it: stave bundle sign .akc/run/*.manifest.json --key KEY",
        ),
        _ => stop,
    })
}

/// The hash by which a run manifest vouches for an exec document: of its whole text but for the time at which
/// it was made, which says nothing about what runs.
pub fn exec_hash(text: &str) -> String {
    match stave_canon::locate_key(text, "/metadata/generated_at")
        .and_then(|_| stave_canon::locate(text, "/metadata/generated_at"))
    {
        Some(time) => {
            let (before, after) = (text.get(..time.start), text.get(time.end..));
            sha256_hex(format!("{}null{}", before.unwrap_or_default(), after.unwrap_or_default()))
        }
        None => sha256_hex(text),
    }
}

/// The run manifests of the compile that wrote `OUT/flows/NAME.ir.json`.
fn manifests(file: &Path) -> Vec<PathBuf> {
    let Some(folder) =
        file.canonicalize().ok().and_then(|file| Some(file.parent()?.parent()?.join(MANIFESTS)))
    else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(MANIFEST_ENDING))
        .collect();
    found.sort();
    found
}

/// What an artefact is held against; `name` is the flow's, which can have a minimum of its own.
fn trust<'p>(project: &'p Project, repo: &'p str, name: Option<&'p str>) -> Trust<'p> {
    Trust { settings: &project.settings.signing.trust, tenant_id: project.tenant(), repo_id: repo, name }
}

pub fn refused(file: &Path, refusal: &TrustRefusal) -> Stop {
    let stop = Stop::refused(format!("{} is refused: {refusal}", file.display())).code(refusal.code());
    match refusal {
        TrustRefusal::Unsigned => stop.help("sign it: stave bundle sign FILE --key KEY"),
        TrustRefusal::UntrustedKey(_) => stop.help("list the trusted keys in stave.toml under [signing]"),
        TrustRefusal::RevokedKey(_) => {
            stop.help("sign it with another key: stave bundle sign FILE --key KEY")
        }
        TrustRefusal::Unversioned => stop.help(
            "sign it again: stave bundle sign FILE --key KEY, or set `unversioned = true` under [signing]",
        ),
        TrustRefusal::RolledBack { .. } => {
            stop.help("deploy the newer build; `minimum` under [signing] decides")
        }
        TrustRefusal::Expired(_) => {
            stop.help("sign it again: stave bundle sign FILE --key KEY --expires PERIOD")
        }
        TrustRefusal::FutureDated(_) => {
            stop.help("compare the clocks of this machine and of the one that signed")
        }
        _ => stop,
    }
}

/// Where the signature of an artefact lies.
pub fn signature_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ENDING);
    PathBuf::from(name)
}

/// The signature beside an artefact; `None` when there is none.
pub fn signature_of(file: &Path) -> Result<Option<Signature>, Stop> {
    let path = signature_path(file);
    if !path.exists() {
        return Ok(None);
    }
    let text = files::read_text(&path)?;
    Signature::from_text(&text).map(Some).map_err(|refusal| refused(file, &refusal))
}

/// The project of an artefact. One whose file has mistakes might ask for what cannot be read, so it stops.
pub fn project_of(file: &Path) -> Result<Project, Stop> {
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let project = Project::of(file, &mut sources, &mut diagnostics)?;
    match diagnostics.iter().find(|found| found.is_error()) {
        Some(Diagnostic { message, .. }) => {
            let stop = Stop::invalid(format!("the project file has a mistake: {message}"));
            Err(stop.help("`stave check stave.toml` shows where"))
        }
        None => Ok(project),
    }
}
