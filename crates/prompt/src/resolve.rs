//! Resolving context references: what they refer to, and a record of what was taken.
//!
//! Where text comes from is a port, [`ReferenceSource`]: this crate reads no file and starts no program.
//!
//! Invariant: every reference that names something outside the prompt ends up in
//! [`Resolution::included`] or in [`Resolution::unavailable`], never in neither.

use std::fmt;
use std::path::Path;

use stave_canon::{Value, sha256_hex};
use thiserror::Error;

use crate::compile::{PromptPart, Provenance};
use crate::governance::{Content, RealPath};
use crate::{ContextRef, FileSelection, PromptIr};

/// How many characters of a file a prompt takes, as specified.
pub const FILE_CHARACTERS: usize = 10_000;

/// Where the text of references comes from.
pub trait ReferenceSource: fmt::Debug + Send + Sync {
    /// The files that a path of a `file:` reference names: one, or all that a wildcard matches, in a
    /// stable order.
    fn files(&self, selection: &FileSelection<'_>) -> Result<Vec<ReferenceText>, Unavailable>;

    /// The text of a `diff:` reference.
    fn diff(&self, reference: &str) -> Result<ReferenceText, Unavailable>;

    /// The folder from which references name files, where its texts have real paths.
    fn root(&self) -> Option<&Path> {
        None
    }
}

/// A text that a source gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceText {
    /// What it is called in the prompt: a path below the project's root, or a diff's name.
    pub name: String,
    /// Every file whose content is in the text, where it really lies, links followed.
    pub real_paths: Vec<String>,
    pub text: String,
    /// Whether the source gave only the beginning.
    pub is_cut: bool,
}

/// Why there is no text for a reference.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unavailable {
    #[error("there is no such file")]
    Missing,
    #[error("it lies outside the project")]
    Outside,
    #[error("it is a folder")]
    Folder,
    #[error("it is not text")]
    Binary,
    #[error("no file matches")]
    NoMatch,
    /// The file has so many lines, and those that are asked for come after them.
    #[error("it has {}", lines_in_words(.0))]
    NoLines(usize),
    /// Neither the inputs nor the metadata have it.
    #[error("no input and no metadata of the prompt has this name")]
    NoValue,
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// The project does not list it.
    #[error("{0}")]
    Unlisted(String),
    #[error("{0}")]
    Failed(String),
    #[error("nothing resolves references here")]
    NoSource,
}

/// A text that goes into the prompt, as the record keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    pub reference: String,
    pub name: String,
    pub lines: Option<(usize, usize)>,
    /// How many characters were taken.
    pub characters: usize,
    /// Of exactly the text that was taken.
    pub sha256: String,
    /// Whether there was more than was taken.
    pub is_cut: bool,
}

/// The resolved references of a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resolution {
    /// For [`crate::compile::Parts::references`].
    pub parts: Vec<PromptPart>,
    pub included: Vec<Included>,
    pub unavailable: Vec<(String, Unavailable)>,
    /// The files in each part, in the order of `parts`.
    real_paths: Vec<Vec<FoundPath>>,
}

/// Where a file really lies, and its path from the project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundPath {
    whole: String,
    in_project: Option<String>,
}

/// A source that has nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSource;

impl ReferenceSource for NoSource {
    fn files(&self, _: &FileSelection<'_>) -> Result<Vec<ReferenceText>, Unavailable> {
        Err(Unavailable::NoSource)
    }

    fn diff(&self, _: &str) -> Result<ReferenceText, Unavailable> {
        Err(Unavailable::NoSource)
    }
}

impl Unavailable {
    /// One word for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Unavailable::Missing => "missing",
            Unavailable::Outside => "outside",
            Unavailable::Folder => "folder",
            Unavailable::Binary => "binary",
            Unavailable::NoMatch => "no_match",
            Unavailable::NoLines(_) => "no_lines",
            Unavailable::NoValue => "no_value",
            Unavailable::TooLarge(_) => "too_large",
            Unavailable::Unlisted(_) => "unlisted",
            Unavailable::Failed(_) => "failed",
            Unavailable::NoSource => "no_source",
        }
    }
}

/// Resolves the `file:` and `diff:` references of a prompt; the others need no source.
#[must_use]
pub fn resolve(ir: &PromptIr, source: &dyn ReferenceSource) -> Resolution {
    let mut out = Resolution::default();
    let mut seen = std::collections::HashSet::new();
    for reference in ir.context_refs.iter().filter(|reference| seen.insert(reference.as_str())) {
        let (texts, lines) = match ContextRef::parse(reference) {
            ContextRef::File(path) => {
                let selection = FileSelection::parse(path);
                (files(source, &selection), selection.lines)
            }
            ContextRef::Diff(name) => (source.diff(name).map(|text| vec![text]), None),
            _ => continue,
        };
        match texts {
            Ok(texts) if texts.is_empty() => out.unavailable.push((reference.clone(), Unavailable::NoMatch)),
            Ok(texts) => {
                texts.into_iter().for_each(|text| out.include(reference, text, lines, source.root()));
            }
            Err(reason) => out.unavailable.push((reference.clone(), reason)),
        }
    }
    out
}

/// The files that a selection names and that have something of what it wants. A file that ends before the lines that
/// are wanted has nothing; of a wildcard the others remain.
pub fn files(
    source: &dyn ReferenceSource,
    selection: &FileSelection<'_>,
) -> Result<Vec<ReferenceText>, Unavailable> {
    let texts = source.files(selection)?;
    let Some((first, _)) = selection.lines else { return Ok(texts) };
    let lines = |text: &ReferenceText| text.text.split_inclusive('\n').count();
    let longest = texts.iter().map(lines).max();
    let texts: Vec<ReferenceText> = texts.into_iter().filter(|text| lines(text) >= first).collect();
    match longest {
        Some(longest) if texts.is_empty() => Err(Unavailable::NoLines(longest)),
        _ => Ok(texts),
    }
}

fn lines_in_words(count: &usize) -> String {
    match count {
        0 => "no lines".to_owned(),
        1 => "only 1 line".to_owned(),
        count => format!("only {count} lines"),
    }
}

/// A path with its place below the root, with one kind of separator.
fn found_path(whole: String, root: Option<&Path>) -> FoundPath {
    let below = root.and_then(|root| Path::new(&whole).strip_prefix(root).ok());
    let in_project = below.map(|below| {
        let parts = below.components().map(|part| part.as_os_str().to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    });
    FoundPath { whole, in_project }
}

impl Resolution {
    /// Adds a text that its caller has: no file is in it.
    pub fn add(&mut self, part: PromptPart) {
        self.parts.push(part);
        self.real_paths.push(Vec::new());
    }

    fn include(
        &mut self,
        reference: &str,
        source: ReferenceText,
        lines: Option<(usize, usize)>,
        root: Option<&Path>,
    ) {
        let ReferenceText { name, real_paths, text, is_cut } = source;
        let selected = match lines {
            None => text,
            Some((first, last)) => {
                text.split_inclusive('\n').skip(first - 1).take(last - first + 1).collect()
            }
        };
        let end = selected.char_indices().nth(FILE_CHARACTERS).map(|(end, _)| end);
        let taken = end.and_then(|end| selected.get(..end)).unwrap_or(&selected).to_owned();
        self.included.push(Included {
            reference: reference.to_owned(),
            name: name.clone(),
            lines,
            characters: taken.chars().count(),
            sha256: sha256_hex(&taken),
            is_cut: is_cut || end.is_some(),
        });
        self.parts.push(PromptPart::new(name, taken, Provenance::Retrieval).part_of(reference));
        self.real_paths.push(real_paths.into_iter().map(|path| found_path(path, root)).collect());
    }

    /// The texts as governance judges them: each text once, and each file in it.
    #[must_use]
    pub fn contents(&self) -> Vec<Content<'_>> {
        let mut contents = Vec::new();
        for (part, paths) in self.parts.iter().zip(&self.real_paths) {
            let reference = part.reference();
            let mut paths = paths
                .iter()
                .map(|path| RealPath { whole: &path.whole, in_project: path.in_project.as_deref() });
            contents.push(Content { reference, path: paths.next(), text: &part.text });
            contents.extend(paths.map(|path| Content { reference, path: Some(path), text: "" }));
        }
        contents
    }

    /// What was taken and what could not be, for programs.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.to_value_without(|_| false)
    }

    /// The same without texts that were taken and then left out of the prompt.
    #[must_use]
    pub fn to_value_without(&self, is_left_out: impl Fn(&Included) -> bool) -> Value {
        let included = self.included.iter().filter(|included| !is_left_out(included)).map(|included| {
            let lines = included.lines.map(|(first, last)| vec![first as u64, last as u64]);
            Value::from_iter([
                ("reference", Value::from(included.reference.as_str())),
                ("name", included.name.as_str().into()),
                ("lines", lines.into()),
                ("characters", included.characters.into()),
                ("sha256", included.sha256.as_str().into()),
                ("cut", included.is_cut.into()),
            ])
        });
        let unavailable = self.unavailable.iter().map(|(reference, reason)| {
            Value::from_iter([
                ("reference", reference.as_str()),
                ("reason", reason.word()),
                ("message", reason.to_string().as_str()),
            ])
        });
        Value::from_iter([
            ("included", Value::Array(included.collect())),
            ("unavailable", Value::Array(unavailable.collect())),
        ])
    }
}
