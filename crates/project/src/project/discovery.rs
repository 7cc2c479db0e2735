//! Which project a command works for.
//!
//! Invariant: the root of trust is a folder that the operator chose. It is the project of the current folder: the nearest
//! `stave.toml` at or above it. A source outside that project, named on the command line, belongs to the outermost project
//! that holds it. A document that was compiled, or any other JSON, never decides: wherever it lies, its project is that
//! of the current folder. A `stave.toml` further down is not used, whatever it says, and is reported.

use std::path::{Path, PathBuf};

use stave_diag::codes::project as codes;
use stave_diag::{Diagnostic, Sources, Span};

use super::{FILE, Project};
use crate::files;

/// What was found for a path.
pub(super) struct Found {
    /// The project file.
    pub(super) file: Option<PathBuf>,
    /// The folder of a project without a file.
    pub(super) folder: PathBuf,
    /// Project files that are not used.
    pub(super) ignored: Vec<PathBuf>,
}

pub(super) fn find(path: &Path) -> Found {
    find_from(&absolute(Path::new(".")), path)
}

/// The project of a folder that the operator names, as if the command had been started there.
pub(super) fn at(folder: &Path) -> Found {
    find_from(&absolute(folder), &folder.join(FILE))
}

/// The project of a path, for a command in the folder `here`.
fn find_from(here: &Path, path: &Path) -> Found {
    let own = above(here).next();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let start = absolute(folder);
    let is_document = path.extension().is_some_and(|extension| extension == "json");
    let is_inside = |file: &PathBuf| file.parent().is_some_and(|root| start.starts_with(root));
    let file = match own {
        _ if is_document => own,
        Some(own) if is_inside(&own) => Some(own),
        _ => above(&start).last(),
    };
    let ignored = above(&start).take_while(|found| Some(found) != file.as_ref()).collect();
    Found { file, folder: if is_document { here.to_path_buf() } else { start.clone() }, ignored }
}

/// The project files at and above a folder, from the inside out. Whatever has the name is one: a folder, a link to nothing or
/// a pipe cannot be read, which stops the command. Passed over, it would take the rules of its project away.
fn above(folder: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    folder.ancestors().map(|folder| folder.join(FILE)).filter(|path| path.is_symlink() || path.exists())
}

fn absolute(folder: &Path) -> PathBuf {
    let absolute = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    absolute.unwrap_or_else(|_| folder.to_path_buf())
}

/// What is said about a project file that is not used.
pub(super) fn report(ignored: &Path, file: Option<&Path>, sources: &mut Sources) -> Diagnostic {
    let source = sources.add(files::shown(ignored).display().to_string(), "");
    let message = match file {
        Some(file) => format!(
            "{} is not used, because the project is {}",
            files::shown(ignored).display(),
            files::shown(file).display()
        ),
        None => format!("{} is not used, because it is not the project of this command", ignored.display()),
    };
    Diagnostic::new(codes::IGNORED_PROJECT_FILE, Span::new(source, 0, 0), message)
        .help("remove the file, or start the command in its folder")
}

/// What was said about projects already. Each project's own mistakes, and each file that is not used, are reported once.
#[derive(Debug, Default)]
pub struct Reported {
    roots: Vec<PathBuf>,
    ignored: Vec<PathBuf>,
}

impl Reported {
    /// The findings about a project that are new.
    pub fn fresh(&mut self, project: &Project, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let is_known = self.roots.contains(&project.root);
        let has_news = project.ignored.iter().any(|file| !self.ignored.contains(file));
        if !is_known {
            self.roots.push(project.root.clone());
        }
        self.ignored.extend(project.ignored.iter().cloned());
        let is_fresh = |found: &Diagnostic| match found.code == codes::IGNORED_PROJECT_FILE {
            true => has_news,
            false => !is_known,
        };
        found.into_iter().filter(is_fresh).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` is a project with a file of another inside, `b` one beside it; `c` is not a project.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a/flows/deep", "a/out/flows", "b/flows", "c/flows"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["a", "a/flows/deep", "a/out", "b"] {
            std::fs::write(root.join(name).join(FILE), "").unwrap();
        }
        (folder, root)
    }

    #[test]
    fn the_current_folder_decides_and_what_lies_below_does_not() {
        let (_folder, root) = tree();
        for (here, path, project, ignored) in [
            ("a", "a/flows/x.yaml", Some("a"), &[][..]),
            ("a", "a/flows/deep/x.yaml", Some("a"), &["a/flows/deep"]),
            ("a/flows", "a/flows/deep/x.yaml", Some("a"), &["a/flows/deep"]),
            ("a/flows/deep", "a/flows/deep/x.yaml", Some("a/flows/deep"), &[]),
            ("a", "a/out/flows/x.ir.json", Some("a"), &["a/out"]),
            // Named from elsewhere, a source belongs to the outermost project.
            ("c", "a/flows/deep/x.yaml", Some("a"), &["a/flows/deep"]),
            ("b", "a/flows/x.yaml", Some("a"), &[]),
            ("a", "c/flows/x.yaml", None, &[]),
            // A document takes no project along.
            ("c", "a/out/flows/x.ir.json", None, &["a/out", "a"]),
            ("b", "a/out/flows/x.ir.json", Some("b"), &["a/out", "a"]),
            ("b", "c/flows/x.json", Some("b"), &[]),
        ] {
            let found = find_from(&root.join(here), &root.join(path));
            let file = |name: &str| root.join(name).join(FILE);
            assert_eq!(found.file, project.map(file), "{path} from {here}");
            let wanted: Vec<PathBuf> = ignored.iter().map(|name| file(name)).collect();
            assert_eq!(found.ignored, wanted, "{path} from {here}");
        }
        let found = find_from(&root.join("c"), &root.join("a/out/flows/x.ir.json"));
        assert_eq!(found.folder, root.join("c"), "nothing beside a document is read as the project's");
    }
}
