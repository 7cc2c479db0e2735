//! The references that flows may use: files that the project lists in `[prompt] context_files`.
//!
//! A flow is not trusted with every file of its project: secrets, keys and other tenants' settings may lie there.
//!
//! Invariant: no text of a file that is not listed is given, whatever a path, a wildcard, a link or a diff leads to.

use std::path::Path;

use stave_prompt::FileSelection;
use stave_prompt::resolve::{ReferenceSource, ReferenceText, Unavailable};
use stave_script::allow_list::context_file_refusal;

use super::ProjectContext;
use crate::exit::Stop;

/// The listed files of a project, and diffs of them.
#[derive(Debug)]
pub struct ListedContext {
    inside: ProjectContext,
    listed: Vec<String>,
}

impl ListedContext {
    pub fn new(root: &Path, listed: &[String]) -> Result<Self, Stop> {
        Ok(ListedContext { inside: ProjectContext::new(root)?, listed: listed.to_vec() })
    }

    /// Why no run can make a diff of this name; `None` where the project is no checkout.
    #[must_use]
    pub fn diff_fault(&self, reference: &str) -> Option<Unavailable> {
        self.inside.diff_fault(reference)
    }

    /// Why a text may not be given: the first of its files that is not listed.
    fn refusal(&self, text: &ReferenceText) -> Option<Unavailable> {
        text.real_paths.iter().find_map(|path| {
            let name = self.inside.name(Path::new(path));
            context_file_refusal(&self.listed, &name).map(|found| Unavailable::Unlisted(found.to_string()))
        })
    }
}

impl ReferenceSource for ListedContext {
    fn files(&self, selection: &FileSelection<'_>) -> Result<Vec<ReferenceText>, Unavailable> {
        // Without a list nothing is looked for, so that a flow learns of no file whether it exists.
        if self.listed.is_empty()
            && let Some(found) = context_file_refusal(&self.listed, selection.path)
        {
            return Err(Unavailable::Unlisted(found.to_string()));
        }
        let texts = self.inside.files(selection)?;
        let mut given = Vec::with_capacity(texts.len());
        let mut refusal = None;
        for text in texts {
            match self.refusal(&text) {
                None => given.push(text),
                Some(found) => refusal = refusal.or(Some(found)),
            }
        }
        // A wildcard stands for the listed files that it matches.
        match refusal {
            Some(refusal) if given.is_empty() => Err(refusal),
            _ => Ok(given),
        }
    }

    fn diff(&self, reference: &str) -> Result<ReferenceText, Unavailable> {
        if self.listed.is_empty()
            && let Some(found) = context_file_refusal(&self.listed, &format!("diff:{reference}"))
        {
            return Err(Unavailable::Unlisted(found.to_string()));
        }
        let is_listed = |name: &str| context_file_refusal(&self.listed, name).is_none();
        let text = super::git::diff(&self.inside.root, reference, is_listed)?;
        self.refusal(&text).map_or(Ok(text), Err)
    }

    fn root(&self) -> Option<&Path> {
        self.inside.root()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_given_listed_files_only() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("docs/a.md", "A"),
            ("docs/b.md", "B"),
            ("docs/.hidden.md", "H"),
            ("secrets/KEY", "K"),
            ("stave.toml", "T"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("secrets/KEY"), folder.path().join("docs/link.md"))
            .unwrap();
        let given = |listed: &[&str], path: &str| {
            let listed: Vec<String> = listed.iter().map(|one| (*one).to_owned()).collect();
            let context = ListedContext::new(folder.path(), &listed).unwrap();
            let texts = context.files(&FileSelection::parse(path));
            texts.map(|texts| texts.into_iter().map(|text| text.text).collect::<Vec<_>>())
        };
        assert_eq!(given(&["docs/**"], "docs/a.md").unwrap(), ["A"]);
        assert_eq!(given(&["docs/**"], "docs/*.md").unwrap(), ["A", "B"]);
        for path in
            ["secrets/KEY", "docs/../secrets/KEY", "stave.toml", "docs/.hidden.md", "docs/link.md", "se*/*"]
        {
            let refused = given(&["docs/**"], path).unwrap_err();
            assert!(matches!(refused, Unavailable::Unlisted(_)), "{path}: {refused:?}");
        }
        for path in ["docs/a.md", "missing.md"] {
            let refused = given(&[], path).unwrap_err();
            assert!(matches!(refused, Unavailable::Unlisted(_)), "{path}: {refused:?}");
        }
    }
}
