//! `stave compile`: flows and workflows to exec documents, a manifest, and whatever else is emitted.
//!
//! Everything is checked, lowered and validated in memory first. Then the whole output is published at
//! once; an input with an error leaves the output folder as it was.

mod cache;
mod clean;
mod compilation;
pub(crate) mod emit;
mod flow_source;
mod overlap;
pub(crate) mod preview;
mod publish;
mod report;
mod sources;
mod watch;
mod workflow_source;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_canon::{Clock, Timestamp};
use stave_diag::{Diagnostic, Sources, sort};

use self::cache::Cache;
use self::compilation::Compilation;
use self::emit::{Emitter, Tree};
use self::publish::{Disk, FileSystem, Owner, Publication, PublishError, Published};
use self::report::{Progress, Report};
use crate::args::Compile;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::ports::SystemClock;
use crate::terminal::Terminal;

pub(crate) fn compile(arguments: &Compile, terminal: Terminal) -> Result<Exit, Stop> {
    let emitters = emit::chosen(&arguments.emit)?;
    let out = absolute(&arguments.out)?;
    if arguments.paths.is_empty() && (arguments.clean || arguments.clean_all) {
        return clean::clean(arguments, &out);
    }
    if arguments.watch {
        return watch::watch(arguments, &emitters, &out, terminal);
    }
    let report = once(arguments, &emitters, &out, terminal)?;
    report.print(arguments.json, terminal);
    Ok(report.exit())
}

/// One compile, from reading to publishing.
fn once(
    arguments: &Compile,
    emitters: &[&'static dyn Emitter],
    out: &Path,
    terminal: Terminal,
) -> Result<Report, Stop> {
    let paths = paths(arguments)?;
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let read = sources::read(&paths, out, arguments.source_paths, &mut sources, &mut diagnostics)?;
    if arguments.clean_all {
        clean::refuse_current_folder(out)?;
    }
    let fresh = arguments.no_cache || arguments.clean || arguments.clean_all;
    let cache = if fresh { Cache::none() } else { Cache::open(out) };
    let progress = Progress::new(terminal, arguments.json);
    let (flows, found) = compilation::compile(read, &sources, &cache, arguments.strict, &|done, all| {
        progress.show(done, all);
    })?;
    progress.end();
    diagnostics.extend(found);
    sort(&mut diagnostics);
    let sources = Arc::new(sources);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(Report::invalid(out, diagnostics, sources));
    }
    let (generated_at, is_time_fixed) = generated_at()?;
    let compilation = Compilation { flows, sources: Arc::clone(&sources), generated_at, is_time_fixed };
    let _lock = lock(out)?;
    let published = publish(&compilation, emitters, arguments, out)?;
    if !arguments.no_cache && !arguments.clean_all {
        cache.store();
    }
    Ok(Report::compiled(out, emitters, &compilation, published, diagnostics, sources))
}

fn publish(
    compilation: &Compilation,
    emitters: &[&'static dyn Emitter],
    arguments: &Compile,
    out: &Path,
) -> Result<Published, Stop> {
    let fresh = arguments.clean || arguments.clean_all;
    let before = |path: &str| {
        let bytes = if fresh { None } else { Disk.read(&out.join(path), files::MAX_FILE_BYTES).ok()? };
        String::from_utf8(bytes?).ok()
    };
    let mut tree = Tree::default();
    for emitter in emitters {
        if !arguments.emit.is_empty() {
            emitter.refuse(compilation)?;
        }
        emitter.emit(compilation, &before, &mut tree)?;
    }
    let roots = emit::roots();
    let emitted = |path: &str| emitters.iter().any(|emitter| emitter.owns(path));
    let publication = Publication {
        out,
        tree: &tree,
        owner: Owner { roots: &roots, known: &emit::owned, emitted: &emitted, recognises: &emit::recognised },
        wipe: arguments.clean_all,
        may_exchange: !std::env::current_dir().is_ok_and(|here| here.starts_with(out)),
    };
    publication.publish(&Disk).map_err(|error| match error {
        PublishError::Foreign(_) => Stop::refused(error.to_string())
            .help("remove or move it, or choose another output folder with --out DIR"),
        PublishError::Io(error) => Stop::internal(format!("{} can't be written: {error}", out.display())),
    })
}

fn paths(arguments: &Compile) -> Result<Vec<PathBuf>, Stop> {
    if !arguments.paths.is_empty() {
        return Ok(arguments.paths.clone());
    }
    let flows = PathBuf::from("flows");
    if flows.is_dir() {
        return Ok(vec![flows]);
    }
    Err(Stop::invalid("there is no folder `flows` here")
        .help("name what to compile: stave compile FILE --out DIR"))
}

/// The output folder without symbolic links, so that exchanging it exchanges what it stands for.
fn absolute(out: &Path) -> Result<PathBuf, Stop> {
    let fail = |error: std::io::Error| Stop::invalid(format!("{} cannot be used: {error}", out.display()));
    if let Ok(found) = out.canonicalize() {
        if !found.is_dir() {
            return Err(Stop::invalid(format!("{} is not a folder", out.display())));
        }
        return Ok(found);
    }
    let absolute = std::path::absolute(out).map_err(fail)?;
    // The part that exists is resolved; the rest will be made.
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(found) = existing.canonicalize() {
            if !found.is_dir() {
                return Err(Stop::invalid(format!("{} is not a folder", existing.display())));
            }
            return Ok(missing.into_iter().rev().fold(found, |path: PathBuf, name| path.join(name)));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
            return Err(Stop::invalid(format!("{} cannot be used", out.display())));
        };
        missing.push(name);
        existing = parent;
    }
}

/// Keeps two compiles from working on one output folder at a time: the second waits. The lock is on the
/// folder above, which stays where it is when the output folder is exchanged.
fn lock(out: &Path) -> Result<Option<File>, Stop> {
    let parent = out.parent().unwrap_or(out);
    std::fs::create_dir_all(parent)
        .map_err(|error| Stop::internal(format!("{} cannot be made: {error}", parent.display())))?;
    // Where folders cannot be opened or locked, compiles have to be kept apart by whoever starts them.
    Ok(File::open(parent).ok().filter(|folder| folder.lock().is_ok()))
}

/// The time of this compile, and whether SOURCE_DATE_EPOCH set it.
fn generated_at() -> Result<(String, bool), Stop> {
    let seconds = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time).to_string();
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => {
            let time = text.trim().parse().ok().and_then(|second| Timestamp::from_second(second).ok());
            let time = time.ok_or_else(|| {
                let stop = Stop::invalid(format!(
                    "SOURCE_DATE_EPOCH is {text:?}, not a number of seconds since 1970"
                ));
                stop.help("set it like SOURCE_DATE_EPOCH=1719771943, or not at all")
            })?;
            Ok((seconds(time), true))
        }
        _ => Ok((seconds(SystemClock.now()), false)),
    }
}
