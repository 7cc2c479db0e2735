//! `stave keys signing`: keys that sign bundles and manifests. The secret part is written once, readable by its owner only, and shown never.

use std::io::{ErrorKind, Write};
use std::path::Path;

use stave_canon::Value;
use stave_diag::Sources;
use stave_system::sign::{PublicKey, SecretKey};
use zeroize::Zeroizing;

use super::arguments::{Signing as SigningArguments, SigningAction, SigningNew, SigningShow};
use crate::exit::{Exit, Stop};
use crate::project::{self, Project, Signing};
use crate::signing_keys::read_public;
use crate::{files, terminal};

pub(super) fn signing(arguments: &SigningArguments) -> Result<Exit, Stop> {
    match &arguments.action {
        SigningAction::New(arguments) => new(arguments),
        SigningAction::Show(arguments) => show(arguments),
    }
}

fn new(arguments: &SigningNew) -> Result<Exit, Stop> {
    let name = arguments.name.as_str();
    if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
        return Err(Stop::invalid(format!("{name:?} is not a name for a key")));
    }
    let secret_path = arguments.out.join(format!("{name}.key"));
    let public_path = arguments.out.join(format!("{name}.pub"));
    for path in [&secret_path, &public_path] {
        files::stays_in_its_project(path)?;
        // A link is something too, wherever it leads.
        if std::fs::symlink_metadata(path).is_ok() {
            return Err(not_made(path, &ErrorKind::AlreadyExists.into()));
        }
    }
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice())
        .map_err(|error| Stop::internal(format!("the system's random source failed: {error}")))?;
    let key = SecretKey::from_seed(&seed);
    let fail = |error: &dyn std::fmt::Display| Stop::internal(format!("the key cannot be written: {error}"));
    let pem = key.to_pem().map_err(|error| fail(&error))?;
    let public_pem = key.public().to_pem().map_err(|error| fail(&error))?;
    make(&secret_path, pem.as_bytes(), 0o600)?;
    make(&public_path, public_pem.as_bytes(), 0o666).inspect_err(|_| discard(&secret_path))?;
    let public = key.public();
    if arguments.json {
        let made = [
            ("key_id", public.id()),
            ("public_key", public.to_hex()),
            ("secret_file", secret_path.display().to_string()),
            ("public_file", public_path.display().to_string()),
        ];
        terminal::out(&Value::from_iter(made).to_string());
    } else {
        terminal::error(&format!("made {} and {}", secret_path.display(), public_path.display()));
        terminal::error(&format!("key {}; keep the .key file secret and out of git", public.id()));
        let (hint, text) = trusting(&public)?;
        terminal::error(hint);
        terminal::out(&text);
    }
    Ok(Exit::Fine)
}

/// What makes the project trust a key, as a text that can be added to its file. A file has one `[signing]` table, so a
/// second key goes into the list that is there.
fn trusting(public: &PublicKey) -> Result<(&'static str, String), Stop> {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let project = Project::of(Path::new(project::FILE), &mut sources, &mut diagnostics)?;
    if project.settings.signing == Signing::default() {
        let table = format!("[signing]\nrequired = true\ntrusted = [\"{}\"]", public.to_hex());
        return Ok(("to trust it, put this into stave.toml:", table));
    }
    let trusted = project.settings.signing.trust.trusted.iter().chain([public]);
    let keys: Vec<String> = trusted.map(|key| format!("\"{}\"", key.to_hex())).collect();
    let hint = "stave.toml has a [signing] table; to trust the key too, change its list to this:";
    Ok((hint, format!("# trusted = [{}]", keys.join(", "))))
}

fn show(arguments: &SigningShow) -> Result<Exit, Stop> {
    let text = Zeroizing::new(files::read_text(&arguments.file)?);
    let (public, is_secret) = match SecretKey::from_pem(&text) {
        Ok(secret) => (secret.public(), true),
        Err(_) => (read_public(&text, &arguments.file)?, false),
    };
    if arguments.json {
        let shown = [
            ("key_id", Value::from(public.id())),
            ("public_key", public.to_hex().into()),
            ("secret", is_secret.into()),
        ];
        terminal::out(&Value::from_iter(shown).to_string());
    } else {
        let kind = if is_secret { "secret" } else { "public" };
        terminal::out(&format!("{} ({kind})\n{}", public.id(), public.to_hex()));
    }
    Ok(Exit::Fine)
}

/// Makes a file of this mode from its first moment on. Whatever is there is kept, and of a file that cannot be written
/// whole nothing stays.
fn make(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Stop> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| not_made(path, &error))?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let mut file = options.open(path).map_err(|error| not_made(path, &error))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| {
        discard(path);
        not_made(path, &error)
    })
}

fn not_made(path: &Path, error: &std::io::Error) -> Stop {
    if error.kind() == ErrorKind::AlreadyExists {
        Stop::invalid(format!("{} is there already", path.display()))
            .help("a key is never replaced; choose another name, or remove the file yourself")
    } else {
        Stop::invalid(format!("{} cannot be made: {error}", path.display()))
    }
}

/// Removes a file that this command made, for a key that is not made after all.
fn discard(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        terminal::error(&format!("{} cannot be removed: {error}", path.display()));
    }
}
