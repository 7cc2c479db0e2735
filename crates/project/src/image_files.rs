//! What of a project goes into the image of one of its services: everything that a run reads of it.
//!
//! Invariant: nothing outside the project's own folders for runs goes into an image; its secrets and signing keys do not.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use stave_canon::Value;

use crate::exit::Stop;
use crate::files;
use crate::project::{FILE, KNOWLEDGE, POLICIES, Project, TEMPLATES};

/// The folders that runs read, with the endings of the files in them that are read; every file where there are none.
const FOLDERS: [(&str, &[&str]); 6] = [
    ("features", &["jsonl"]),
    ("models", &["json"]),
    (KNOWLEDGE, &[]),
    (POLICIES, &[]),
    (TEMPLATES, &[]),
    ("plugins", &["py"]),
];

/// The files by their path below the project.
pub fn image_files(project: &Project) -> Result<BTreeMap<String, Vec<u8>>, Stop> {
    let mut found = BTreeMap::new();
    let read = |path: &Path| {
        files::read_plain(path, files::MAX_FILE_BYTES)
            .map_err(|error| Stop::invalid(format!("{} cannot be packaged: {error}", path.display())))
    };
    let settings = match project.has_file {
        true => read(&project.root.join(FILE))?,
        // The file marks the folder that features and models lie in.
        false => own_settings(project).into_bytes(),
    };
    found.insert(FILE.to_owned(), settings);
    for (folder, endings) in FOLDERS {
        let folder = project.root.join(folder);
        if !folder.is_dir() {
            continue;
        }
        for path in files::below(&folder)? {
            let ending = path.extension().unwrap_or_default();
            if endings.is_empty() || endings.iter().any(|known| ending == *known) {
                let name = path.strip_prefix(&project.root).unwrap_or(&path);
                found.insert(name.to_string_lossy().replace('\\', "/"), read(&path)?);
            }
        }
    }
    let named =
        [&project.settings.replay].into_iter().flatten().chain(&project.settings.prompt.context_files);
    for name in named {
        let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let path = project.root.join(name);
        if is_inside && path.is_file() {
            found.insert(name.replace('\\', "/"), read(&path)?);
        }
    }
    Ok(found)
}

/// The settings of a project without a file: whose it is.
fn own_settings(project: &Project) -> String {
    let text = |text: &str| Value::from(text).to_string();
    format!("[project]\ntenant = {}\nrepo = {}\n", text(project.tenant()), text(&project.repo()))
}
