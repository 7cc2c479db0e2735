//! What of an output folder goes when it is cleaned (specification 004, section 3).
//!
//! Invariant: nothing is removed that `stave compile` did not write. A folder that holds anything else is not
//! removed at all.

use std::path::Path;

use stave_project::exit::Stop;

use super::emit::{self, EMITTERS};
use super::publish::{CACHE, Disk, FileSystem, Inventory, Owner, Record, foreign_in_cache};
use super::{Cleaned, folder};

const MANIFEST: &str = "manifest.json";

/// Cleans without compiling. Gives the paths that were removed; `.` is the whole output folder.
pub fn clean(out: &Path, cleaned: Cleaned) -> Result<Vec<String>, Stop> {
    let _lock = folder::lock(out)?;
    let fail = |error: std::io::Error| Stop::internal(format!("{} can't be cleaned: {error}", out.display()));
    let record = Record::of(out, &Disk).map_err(fail)?;
    let roots = emit::roots();
    let owner =
        Owner { roots: &roots, known: &emit::owned, emitted: &emit::owned, recognises: &emit::recognised };
    let held = Inventory::of(out, owner, &record, &Disk).map_err(fail)?;
    let mut removed = Vec::new();
    if cleaned == Cleaned::Everything {
        let foreign = held.foreign.first().cloned();
        if let Some(path) =
            foreign.map_or_else(|| foreign_in_cache(out, &Disk), |path| Ok(Some(path))).map_err(fail)?
        {
            return Err(refuse(format!(
                "{} holds {path}, which `stave compile` did not write",
                out.display()
            )));
        }
        refuse_current_folder(out)?;
        remove_all(out, &held).map_err(fail)?;
        removed.push(".".to_owned());
    } else {
        removed = documents(held);
        for path in &removed {
            Disk.remove_file(&out.join(path)).map_err(fail)?;
        }
    }
    Ok(removed)
}

/// The files that `--clean` removes. The manifest goes last: no document may be there that it does not name.
fn documents(held: Inventory) -> Vec<String> {
    let is_exec = |path: &String| {
        EMITTERS.iter().any(|emitter| emitter.word() == "exec" && emitter.owns(path))
            && (path.starts_with("flows/") || path == MANIFEST)
    };
    let mut found: Vec<String> = held.ours.into_iter().filter(is_exec).collect();
    found.sort_by_key(|path| path == MANIFEST);
    found
}

/// Removes every file that is ours, then the folders that are empty after that.
fn remove_all(out: &Path, held: &Inventory) -> std::io::Result<()> {
    if !Disk.is_folder(out)? {
        return Ok(());
    }
    for path in &held.ours {
        Disk.remove_file(&out.join(path))?;
    }
    for path in &held.folders {
        Disk.remove_folder(&out.join(path))?;
    }
    if Disk.is_folder(&out.join(CACHE))? {
        Disk.remove_tree(&out.join(CACHE))?;
    }
    Disk.remove_folder(out)
}

fn refuse(what: String) -> Stop {
    Stop::refused(what)
        .help("--clean-all removes the whole output folder; choose one that holds outputs only")
}

/// The current folder is not removed.
pub(super) fn refuse_current_folder(out: &Path) -> Result<(), Stop> {
    if std::env::current_dir().is_ok_and(|here| here.starts_with(out)) {
        return Err(refuse(format!("{} holds the current folder", out.display())));
    }
    Ok(())
}
