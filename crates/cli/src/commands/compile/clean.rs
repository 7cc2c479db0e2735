//! `--clean` and `--clean-all`: what of the output folder goes (specification 004, section 3).

use std::path::Path;

use stave_canon::Value;

use super::emit::{self, EMITTERS};
use super::publish::{Disk, FileSystem};
use super::sources::SourceFile;
use crate::args::Compile;
use crate::exit::{Exit, Stop};
use crate::project;
use crate::terminal;

/// Cleans without compiling: the exec documents and the manifest, or the whole output folder.
pub(super) fn clean(arguments: &Compile, out: &Path) -> Result<Exit, Stop> {
    let _lock = super::lock(out)?;
    let fail =
        |error: std::io::Error| Stop::internal(format!("{} can not be cleaned: {error}", out.display()));
    let mut removed = Vec::new();
    if Disk.is_folder(out).map_err(fail)? {
        if arguments.clean_all {
            refuse_precious(out, &[])?;
            Disk.remove_tree(out).map_err(fail)?;
            removed.push(".".to_owned());
        } else {
            removed = documents(out).map_err(fail)?;
            // The manifest goes last: no document may be there that it does not name.
            for path in &removed {
                Disk.remove_file(&out.join(path)).map_err(fail)?;
            }
        }
    }
    if arguments.json {
        let report = [
            ("status", Value::from("ok")),
            ("out", out.display().to_string().into()),
            ("removed", removed.into()),
        ];
        terminal::out(&Value::from_iter(report).to_string());
    } else {
        terminal::error(&format!(
            "removed {} from {}",
            super::report::counted(removed.len(), "file"),
            out.display()
        ));
    }
    Ok(Exit::Fine)
}

/// The files that `--clean` stands for, the manifest last.
fn documents(out: &Path) -> std::io::Result<Vec<String>> {
    let mut found = Vec::new();
    let flows = out.join("flows");
    if Disk.is_folder(&flows)? {
        found.extend(Disk.list(&flows)?.into_iter().map(|name| format!("flows/{name}")));
    }
    let exec = EMITTERS.iter().filter(|emitter| emitter.word() == "exec");
    let exec: Vec<_> = exec.collect();
    found.retain(|path| exec.iter().any(|emitter| emitter.owns(path)) && emit::owned(path));
    if out.join("manifest.json").is_file() {
        found.push("manifest.json".to_owned());
    }
    Ok(found)
}

/// Wiping a folder must never take sources, a project or the folder somebody stands in with it.
pub(super) fn refuse_precious(out: &Path, files: &[SourceFile]) -> Result<(), Stop> {
    let refuse = |what: String| {
        let stop = Stop { exit: Exit::Refused, message: what, help: None };
        Err(stop.help("--clean-all removes the whole output folder; choose one that holds outputs only"))
    };
    if let Some(file) = files.iter().find(|file| file.path.starts_with(out)) {
        return refuse(format!("{} holds the source {}", out.display(), file.path.display()));
    }
    if std::env::current_dir().is_ok_and(|here| here.starts_with(out)) {
        return refuse(format!("{} holds the current folder", out.display()));
    }
    if out.join(project::FILE).exists() || out.join(".git").exists() || out.parent().is_none() {
        return refuse(format!("{} is more than an output folder", out.display()));
    }
    Ok(())
}
