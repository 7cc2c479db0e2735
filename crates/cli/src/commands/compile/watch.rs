//! `--watch`: compiles again whenever a source changes, until it is stopped.

use std::path::Path;
use std::time::{Duration, SystemTime};

use stave_compile::Emitters;

use crate::args::Compile;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::project;
use crate::source_kind::{SourceKind, paired_policies};
use crate::terminal::Terminal;

/// How often the sources are looked at.
const PAUSE: Duration = Duration::from_millis(200);

pub(super) fn watch(
    arguments: &Compile,
    emitters: &Emitters,
    out: &Path,
    terminal: Terminal,
) -> Result<Exit, Stop> {
    let mut seen = None;
    loop {
        let now = look(arguments);
        if seen.as_ref() != Some(&now) {
            // A file that is being saved may be unreadable for a moment, which is not the end.
            match super::once(arguments, emitters, out) {
                Ok(report) => report.print(arguments.json, terminal),
                Err(stop) => terminal.stop(&stop),
            }
            seen = Some(now);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Size and time of every source, of the policies beside workflows, and of the project files above them.
fn look(arguments: &Compile) -> Vec<(String, u64, Option<SystemTime>)> {
    let paths = super::paths(arguments).unwrap_or_default();
    let mut found = files::expand(&paths).unwrap_or_default();
    let workflows = found.iter().filter(|path| SourceKind::of(path) == Some(SourceKind::Workflow));
    let policies: Vec<_> = workflows.flat_map(|path| paired_policies(path)).collect();
    found.extend(policies);
    found.sort();
    found.dedup();
    let folders: Vec<_> = found.iter().filter_map(|path| path.canonicalize().ok()).collect();
    for folder in folders.iter().flat_map(|path| path.ancestors().skip(1)) {
        let file = folder.join(project::FILE);
        if !found.contains(&file) && file.is_file() {
            found.push(file);
        }
    }
    found
        .into_iter()
        .map(|path| {
            let metadata = std::fs::metadata(&path).ok();
            let size = metadata.as_ref().map_or(0, std::fs::Metadata::len);
            (path.display().to_string(), size, metadata.and_then(|metadata| metadata.modified().ok()))
        })
        .collect()
}
