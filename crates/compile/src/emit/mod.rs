//! Emitters: what a compilation becomes as files. One file per emitter, and the list that binds them.
//!
//! To add one, write a unit struct that implements [`Emitter`] in a file named like its word, and put it
//! in [`EMITTERS`]. An emitter sees every flow of the invocation, already checked and lowered, and adds
//! whole files to the [`Tree`]; it never touches the disk. Everything that all emitters made is published
//! at once, or nothing is.

mod bundle;
mod exec;
mod kserve;
mod projection;
mod system;

use std::collections::BTreeMap;

use stave_project::exit::Stop;
use stave_system::sign::ENDING;

use super::compilation::Compilation;

/// Something that turns a compilation into files.
pub(crate) trait Emitter: Sync {
    /// The word after `--emit`.
    fn word(&self) -> &'static str;

    /// The entries of the output folder that it writes into: names of files and folders directly below it.
    fn roots(&self) -> &'static [&'static str];

    /// Whether a path below its roots is its own, so that it is pruned when it is no longer emitted.
    fn owns(&self, path: &str) -> bool;

    /// Whether the bytes at one of its paths are of the kind that it writes there, although the folder's record
    /// does not list them: an earlier version wrote them, or the record was left out of a copy.
    fn recognises(&self, _path: &str, _bytes: &[u8]) -> bool {
        false
    }

    /// Refuses a compilation that it was asked by name to emit and must not. Without being asked, it leaves
    /// out what it must not emit and says so.
    fn refuse(&self, _: &Compilation) -> Result<(), Stop> {
        Ok(())
    }

    /// Adds its files. `before` reads what the output folder holds, for emitters that keep a part of it.
    fn emit(&self, compilation: &Compilation, before: &Before<'_>, tree: &mut Tree) -> Result<(), Stop>;
}

/// The text of an output file as it was before this compile; `None` when there was none.
pub(crate) type Before<'b> = dyn Fn(&str) -> Option<String> + 'b;

/// Every emitter, in the order in which they run. Without `--emit` all of them do.
pub(crate) static EMITTERS: &[&dyn Emitter] =
    &[&exec::Exec, &system::System, &bundle::Bundle, &kserve::Kserve];

/// Files by their path below the output folder, `/` between the parts.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// What a person should know although the files are made, each text once.
    pub(crate) warnings: Vec<String>,
}

impl Tree {
    /// Adds a file. Two emitters that make the same path are a defect of this program.
    pub(crate) fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let path = path.into();
        debug_assert!(!path.starts_with('/') && !path.contains('\\'), "{path} is not a relative path");
        let before = self.files.insert(path, bytes.into());
        debug_assert!(before.is_none(), "two emitters made the same file");
    }

    pub(crate) fn warn(&mut self, text: String) {
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    /// Adds a file that people sign. A signature stays with bytes that did not change, and goes with those that
    /// did: its emitter owns both paths.
    fn add_signed(&mut self, path: String, text: String, before: &Before<'_>) {
        let signature = format!("{path}{ENDING}");
        if before(&path).as_ref() == Some(&text)
            && let Some(kept) = before(&signature)
        {
            self.add(signature, kept);
        }
        self.add(path, text);
    }
}

/// The emitters of a compile.
#[derive(Clone)]
pub struct Emitters {
    pub(crate) chosen: Vec<&'static dyn Emitter>,
    /// Whether they were asked for by name.
    pub(crate) are_named: bool,
}

impl std::fmt::Debug for Emitters {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.words()).finish()
    }
}

impl Emitters {
    /// The emitters with these words, or all of them when there is none.
    pub fn named(words: &[String]) -> Result<Emitters, Stop> {
        Ok(Emitters { chosen: chosen(words)?, are_named: !words.is_empty() })
    }

    pub fn words(&self) -> Vec<&'static str> {
        self.chosen.iter().map(|emitter| emitter.word()).collect()
    }
}

fn chosen(words: &[String]) -> Result<Vec<&'static dyn Emitter>, Stop> {
    if words.is_empty() {
        return Ok(EMITTERS.to_vec());
    }
    for word in words {
        if !EMITTERS.iter().any(|emitter| emitter.word() == word) {
            let known: Vec<&str> = EMITTERS.iter().map(|emitter| emitter.word()).collect();
            let stop = Stop::invalid(format!("`{word}` is not something that can be emitted"));
            return Err(stop.help(format!("--emit takes {}", known.join(", "))));
        }
    }
    let chosen = EMITTERS.iter().filter(|emitter| words.iter().any(|word| word == emitter.word()));
    Ok(chosen.copied().collect())
}

/// Whether any emitter, chosen or not, makes paths like this one. Only those of chosen emitters are pruned.
pub(crate) fn owned(path: &str) -> bool {
    EMITTERS.iter().any(|emitter| emitter.owns(path))
}

/// Whether bytes are of the kind that the emitter of a path writes there.
pub(crate) fn recognised(path: &str, bytes: &[u8]) -> bool {
    EMITTERS.iter().any(|emitter| emitter.owns(path) && emitter.recognises(path, bytes))
}

/// The names directly below the output folder that emitters write to.
pub(crate) fn roots() -> Vec<&'static str> {
    let mut roots: Vec<&str> = EMITTERS.iter().flat_map(|emitter| emitter.roots()).copied().collect();
    roots.sort_unstable();
    roots.dedup();
    roots
}
