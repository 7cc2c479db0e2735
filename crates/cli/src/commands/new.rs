//! `stave new`: a project that checks and runs at once, with no key and no server.

use std::path::Path;

use stave_canon::Value;

use crate::args::New;
use crate::exit::{Exit, Stop};
use crate::{files, terminal};

/// The files of a new project: path and text. `NAME` stands for the project's name.
const FILES: [(&str, &str); 6] = [
    ("stave.toml", include_str!("../../template/stave.toml")),
    ("flows/hello.yaml", include_str!("../../template/flows/hello.yaml")),
    ("recordings/hello.yaml", include_str!("../../template/recordings/hello.yaml")),
    ("requests/hello.json", include_str!("../../template/requests/hello.json")),
    ("README.md", include_str!("../../template/README.md")),
    (".gitignore", include_str!("../../template/gitignore")),
];

pub(crate) fn new(arguments: &New) -> Result<Exit, Stop> {
    let folder = &arguments.name;
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.is_empty() || name == ".." {
        return Err(Stop::invalid(format!("{} is not a name for a project", folder.display())));
    }
    if !is_free(folder)? {
        return Err(Stop::invalid(format!("{} exists and is not empty", folder.display()))
            .help("choose another name, or an empty folder"));
    }
    for (path, text) in FILES {
        files::write_atomic(&folder.join(path), &text.replace("NAME", &name))?;
    }
    let next = format!("cd {} && stave run flows/hello.yaml --input requests/hello.json", folder.display());
    if arguments.json {
        let paths: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        let made = [("project", Value::from(name)), ("files", paths.into()), ("next", next.into())];
        terminal::out(&Value::from_iter(made).to_string());
    } else {
        terminal::error(&format!("made {} with {} files", folder.display(), FILES.len()));
        terminal::error(&format!("next: {next}"));
    }
    Ok(Exit::Fine)
}

fn is_free(folder: &Path) -> Result<bool, Stop> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Stop::invalid(format!("{} cannot be used: {error}", folder.display()))),
    }
}
