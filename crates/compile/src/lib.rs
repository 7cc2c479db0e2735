//! Flows and workflows compiled to files: exec documents, a manifest, and whatever else is emitted.
//!
//! Everything is checked, lowered and validated in memory first. Then the whole output is published at once.
//!
//! Invariants: an input with an error leaves the output folder as it was. Nothing is removed or overwritten that a compile
//! did not write. This crate parses no arguments and prints nothing: a [`Listener`] receives what happens.

#![expect(
    clippy::disallowed_methods,
    reason = "a compile reads the folder it writes to, and the variable that fixes its time"
)]

mod cache;
mod clean;
mod compilation;
mod emit;
mod flow_source;
mod folder;
mod overlap;
mod preview;
mod publish;
mod scope;
mod sources;
mod time;
mod workflow_source;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stave_diag::{Diagnostic, Sources, sort};
use stave_project::exit::Stop;
use stave_project::files;

use self::cache::Cache;
use self::compilation::Compilation;
use self::emit::Tree;
use self::publish::{Disk, FileSystem, Owner, Publication, PublishError};

pub use self::clean::clean;
pub use self::emit::Emitters;
pub use self::folder::output_folder;
pub use self::preview::{Preview, Previewed, preview};
pub use self::publish::Published;
pub use self::sources::SourcePaths;

/// What is to be compiled, and how.
#[derive(Debug)]
pub struct Job<'j> {
    /// Files and folders.
    pub paths: &'j [PathBuf],
    /// As [`output_folder`] gives it.
    pub out: &'j Path,
    pub emitters: &'j Emitters,
    pub source_paths: SourcePaths,
    /// Whether leniencies of the check are errors.
    pub strict: bool,
    /// Whether results of earlier compiles are used, and this one's kept.
    pub uses_cache: bool,
    /// What of the output folder goes first.
    pub cleaned: Option<Cleaned>,
}

/// How much of an output folder is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaned {
    /// The exec documents and the manifest.
    Documents,
    Everything,
}

/// Who hears how a compile goes.
pub trait Listener: Sync {
    /// So many of all sources are lowered.
    fn lowered(&self, done: usize, all: usize);

    /// No source is lowered any more.
    fn all_lowered(&self);

    /// Something that a person should know although it stops nothing.
    fn warn(&self, text: &str);
}

/// The result of a compile.
#[derive(Debug)]
pub struct CompileOutput {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: Arc<Sources>,
    /// Nothing when the sources have errors.
    pub compiled: Option<Compiled>,
}

/// What was written.
#[derive(Debug)]
pub struct Compiled {
    pub run_id: String,
    pub flows: Vec<FlowName>,
    pub published: Published,
}

/// A compiled flow, as it and its files are called.
#[derive(Debug)]
pub struct FlowName {
    pub name: String,
    pub source_file: String,
    pub file_name: String,
}

/// One compile, from reading to publishing.
pub fn compile(job: &Job<'_>, listener: &dyn Listener) -> Result<CompileOutput, Stop> {
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let read = sources::read(job.paths, job.out, job.source_paths, &mut sources, &mut diagnostics)?;
    if job.cleaned == Some(Cleaned::Everything) {
        clean::refuse_current_folder(job.out)?;
    }
    let is_fresh = !job.uses_cache || job.cleaned.is_some();
    let cache = if is_fresh { Cache::none() } else { Cache::open(job.out) };
    let lowered = compilation::compile(read, &sources, &cache, job.strict, &|done, all| {
        listener.lowered(done, all);
    });
    listener.all_lowered();
    let (flows, found) = lowered?;
    diagnostics.extend(found);
    sort(&mut diagnostics);
    let sources = Arc::new(sources);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(CompileOutput { diagnostics, sources, compiled: None });
    }
    let (generated_at, is_time_fixed) = time::generated_at()?;
    let compilation = Compilation { flows, sources: Arc::clone(&sources), generated_at, is_time_fixed };
    let _lock = folder::lock(job.out)?;
    let published = publish(&compilation, job, listener)?;
    if job.uses_cache && job.cleaned != Some(Cleaned::Everything) {
        cache.store();
    }
    let flows = compilation.flows.iter().map(|flow| FlowName {
        name: flow.entry.name.clone(),
        source_file: flow.entry.source_file.clone(),
        file_name: flow.file_name.clone(),
    });
    let run_id = scope::compilation_run_id(&compilation)?;
    let compiled = Compiled { run_id, flows: flows.collect(), published };
    Ok(CompileOutput { diagnostics, sources, compiled: Some(compiled) })
}

fn publish(compilation: &Compilation, job: &Job<'_>, listener: &dyn Listener) -> Result<Published, Stop> {
    let out = job.out;
    let before = |path: &str| {
        let is_fresh = job.cleaned.is_some();
        let bytes = if is_fresh { None } else { Disk.read(&out.join(path), files::MAX_FILE_BYTES).ok()? };
        String::from_utf8(bytes?).ok()
    };
    let mut tree = Tree::default();
    for emitter in &job.emitters.chosen {
        if job.emitters.are_named {
            emitter.refuse(compilation)?;
        }
        let told = tree.warnings.len();
        let emitted = emitter.emit(compilation, &before, &mut tree);
        tree.warnings.iter().skip(told).for_each(|text| listener.warn(text));
        emitted?;
    }
    let roots = emit::roots();
    let emitted = |path: &str| job.emitters.chosen.iter().any(|emitter| emitter.owns(path));
    let publication = Publication {
        out,
        tree: &tree,
        owner: Owner { roots: &roots, known: &emit::owned, emitted: &emitted, recognises: &emit::recognised },
        wipe: job.cleaned == Some(Cleaned::Everything),
        may_exchange: !std::env::current_dir().is_ok_and(|here| here.starts_with(out)),
    };
    publication.publish(&Disk).map_err(|error| match error {
        PublishError::Foreign(_) => Stop::refused(error.to_string())
            .help("remove or move it, or choose another output folder with --out DIR"),
        PublishError::Io(error) => Stop::internal(format!("{} can't be written: {error}", out.display())),
    })
}
