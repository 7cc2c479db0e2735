//! The results of earlier compiles of the same sources, addressed by everything that goes into them.
//!
//! Invariant: the cache never changes a result. An entry is found only by the digest of the source, the
//! settings and this very program; it is checked against its own digest; and a source with diagnostics is
//! never kept, so that they are reported every time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use stave_exec::manifest;

use super::compilation::CompiledFlow;
use super::publish::{CACHE, Disk, FileSystem, NEXT_PACK, PACK};
use super::sources::SourceFile;

/// A file larger than this is not read.
const LARGEST: u64 = 512 * 1024 * 1024;

/// The digest of everything that a result depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(String);

#[derive(Debug)]
pub(super) struct Cache {
    path: Option<PathBuf>,
    program: String,
    before: HashMap<String, Entry>,
    after: Mutex<Vec<(String, Entry)>>,
}

#[derive(Debug, Clone)]
struct Entry {
    manifest: String,
    text: Arc<str>,
}

impl Key {
    pub(super) fn of(parts: &[&str]) -> Key {
        let mut whole = String::new();
        for part in parts {
            // The length keeps two parts from being read as one.
            whole.push_str(&format!("{}\n{part}\n", part.len()));
        }
        Key(stave_canon::sha256_hex(whole))
    }
}

impl Cache {
    /// A cache that holds nothing and keeps nothing.
    pub(super) fn none() -> Cache {
        Cache { path: None, program: String::new(), before: HashMap::new(), after: Mutex::default() }
    }

    /// The cache of an output folder. What cannot be read counts as absent.
    pub(super) fn open(out: &Path) -> Cache {
        let path = out.join(CACHE).join(PACK);
        let bytes = Disk.read(&path, LARGEST).ok().flatten().unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let program = program();
        let before = read(&text, &program);
        Cache { path: Some(path), program, before, after: Mutex::default() }
    }

    pub(super) fn get(&self, key: &Key, file: &Arc<SourceFile>) -> Option<CompiledFlow> {
        let entry = self.before.get(&key.0)?;
        let manifest = manifest::ManifestEntry::read(&stave_canon::parse(&entry.manifest).ok()?)?;
        Some(CompiledFlow {
            file_name: manifest::file_name(&manifest.name),
            entry: manifest,
            triggers: Vec::new(),
            project: Arc::clone(&file.project),
            source: Arc::clone(file),
            text: entry.text.to_string(),
            document: OnceLock::new(),
            flow: OnceLock::new(),
            key: key.clone(),
        })
    }

    /// Keeps a flow for the next compile. Workflows with triggers are compiled every time.
    pub(super) fn put(&self, flow: Option<&CompiledFlow>) {
        if let Some(flow) = flow.filter(|flow| flow.triggers.is_empty() && self.path.is_some()) {
            let entry =
                Entry { manifest: flow.entry.to_value().to_string(), text: flow.text.as_str().into() };
            self.after.lock().unwrap_or_else(PoisonError::into_inner).push((flow.key.0.clone(), entry));
        }
    }

    /// Writes what the next compile may use: exactly the results of this one.
    pub(super) fn store(&self) {
        let Some(path) = &self.path else { return };
        let after = self.after.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            after.len() == self.before.len() && after.iter().all(|(key, _)| self.before.contains_key(key));
        if is_same {
            return;
        }
        let mut pack = format!("{}\n", self.program);
        for (key, entry) in after.iter() {
            let digest = digest(&entry.manifest, &entry.text);
            pack.push_str(&format!("{key} {digest} {} {}\n", entry.manifest.len(), entry.text.len()));
            pack.push_str(&entry.manifest);
            pack.push_str(&entry.text);
            pack.push('\n');
        }
        // A cache that cannot be written costs time and nothing else.
        // A leftover of a process that died, or a link that somebody put there, is replaced and not written to.
        let temporary = path.with_file_name(NEXT_PACK);
        let _ = Disk.remove_file(&temporary);
        let written = path.parent().map_or(Ok(()), |folder| Disk.create_folders(folder));
        let written = written.and_then(|()| Disk.write(&temporary, pack.as_bytes()));
        if written.and_then(|()| Disk.rename(&temporary, path)).is_err() {
            let _ = Disk.remove_file(&temporary);
        }
    }
}

fn read(text: &str, program: &str) -> HashMap<String, Entry> {
    let mut entries = HashMap::new();
    let Some(mut rest) = text.strip_prefix(program).and_then(|rest| rest.strip_prefix('\n')) else {
        return entries;
    };
    while let Some((key, entry, after)) = read_entry(rest) {
        entries.insert(key, entry);
        rest = after;
    }
    entries
}

/// The next entry of a pack and what follows it; `None` at the end, or where the pack is damaged.
fn read_entry(rest: &str) -> Option<(String, Entry, &str)> {
    let (head, rest) = rest.split_once('\n')?;
    let mut words = head.split(' ');
    let (key, wanted) = (words.next()?, words.next()?);
    let lengths: [usize; 2] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let manifest = rest.get(..lengths[0])?;
    let end = lengths[0].checked_add(lengths[1])?;
    let text = rest.get(lengths[0]..end)?;
    let after = rest.get(end..)?.strip_prefix('\n')?;
    (digest(manifest, text) == wanted)
        .then(|| (key.to_owned(), Entry { manifest: manifest.to_owned(), text: text.into() }, after))
}

fn digest(manifest: &str, text: &str) -> String {
    Key::of(&[manifest, text]).0
}

/// This program: its version, and the size and time of its file, so that no build uses another's results.
fn program() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata);
    let file = file.map(|file| (file.len(), file.modified().ok()));
    let shown = format!("{} {file:?}", env!("CARGO_PKG_VERSION"));
    stave_canon::sha256_hex(shown)
}
