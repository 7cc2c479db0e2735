//! One flow as all lines, in memory: what a compile of it alone would write.

use std::path::Path;
use std::sync::Arc;

use stave_canon::{Value, sha256_hex};
use stave_diag::{Diagnostic, Sources};
use stave_project::Project;
use stave_project::exit::Stop;
use stave_project::source_kind::SourceKind;

use super::cache::Cache;
use super::compilation::{self, Compilation};
use super::emit::{self, Tree};
use super::sources::SourceFile;
use super::time::generated_at;

/// The texts of a flow's lines.
#[derive(Debug)]
pub struct Preview {
    pub exec: String,
    pub system: String,
    pub bundle: String,
    pub manifest: String,
    /// The fingerprints of the first three.
    pub fingerprints: [String; 3],
}

/// What came of a text.
#[derive(Debug)]
pub enum Previewed {
    Lines(Preview),
    /// What is wrong with the text.
    Invalid(Vec<Diagnostic>),
    /// Nobody wants it any more.
    Unwanted,
}

/// Compiles a flow from its text, or says what is wrong with it. Between two passes it looks whether that is still wanted.
pub fn preview(
    path: &Path,
    text: &str,
    project: Project,
    is_wanted: &dyn Fn() -> bool,
) -> Result<Previewed, Stop> {
    let mut sources = Sources::new();
    let name = path.strip_prefix(&project.root).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let text: Arc<str> = text.into();
    let id = sources.add(name.as_str(), Arc::clone(&text));
    let kind = SourceKind::Flow;
    let file = SourceFile { kind, name, path: path.to_path_buf(), text, id, project: Arc::new(project) };
    let (flows, diagnostics) = compilation::compile(vec![file], &sources, &Cache::none(), false, &|_, _| {})?;
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(Previewed::Invalid(diagnostics));
    }
    let fingerprint = flows.first().map(|flow| flow.document().map(stave_exec::Document::fingerprint));
    let fingerprint = fingerprint.transpose()?.unwrap_or_default();
    let (generated_at, is_time_fixed) = generated_at()?;
    let compilation = Compilation { flows, sources: Arc::new(sources), generated_at, is_time_fixed };
    let words = ["exec", "system", "bundle"].map(str::to_owned);
    let mut tree = Tree::default();
    for emitter in emit::Emitters::named(&words)?.chosen {
        if !is_wanted() {
            return Ok(Previewed::Unwanted);
        }
        emitter.emit(&compilation, &|_| None, &mut tree)?;
    }
    let text = |begins: &str, ends: &str| {
        let files = tree.files.iter();
        let mut found = files.filter(|(path, _)| path.starts_with(begins) && path.ends_with(ends));
        found.next().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
    };
    let (bundle, manifest) = (text(".akc/runtime/", ".json"), text(".akc/run/", ".manifest.json"));
    let system_hash = stave_canon::parse(&manifest).unwrap_or_default();
    let system_hash = system_hash.get("ir_sha256").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Previewed::Lines(Preview {
        exec: text("flows/", ".ir.json"),
        system: text(".akc/ir/", ".json"),
        fingerprints: [fingerprint, system_hash, sha256_hex(&bundle)],
        bundle,
        manifest,
    }))
}
