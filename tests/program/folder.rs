//! A folder of a test's own, taken away when the test is done.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::Builder::new().prefix("stave-").tempdir().expect("a temporary folder can be made"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a folder can be made in a temporary folder");
        }
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path().join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.path().join(path).exists()
    }

    /// Every file below the folder with its bytes, in the order of their paths.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut waiting = vec![self.path().to_owned()];
        while let Some(folder) = waiting.pop() {
            for entry in std::fs::read_dir(&folder).expect("a temporary folder can be read") {
                let path = entry.expect("a temporary folder can be read").path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    let bytes = std::fs::read(&path).expect("a temporary file can be read");
                    files.push((path, bytes));
                }
            }
        }
        files.sort();
        files
    }

    /// A copy of a folder of the repository, without what a run leaves behind.
    pub(crate) fn copy_of(path: &str) -> Self {
        let folder = Folder::new();
        copy(&repository().join(path), folder.path());
        folder
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made in a temporary folder");
    for entry in std::fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("the repository can be read");
        let name = entry.file_name();
        if name == ".stave" {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("a file of the repository can be copied");
        }
    }
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text of a file of the repository.
pub(crate) fn repository_file(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
