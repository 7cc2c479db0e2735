//! Where the secrets of a project come from: variables of the environment, or a folder with a file for each, as
//! containers mount them.

use std::io::Read;

use stave_llm::Secret;

use super::Project;
use crate::terminal;

/// The longest secret that a file may hold.
const LONGEST: u64 = 64 * 1024;

impl Project {
    /// A secret by its name: the variable of the environment, else the file of that name in `[secrets] folder`.
    pub(crate) fn secret(&self, name: &str) -> Option<Secret> {
        let variable = std::env::var(name).ok().filter(|value| !value.is_empty());
        variable.or_else(|| self.secret_file(name)).map(Secret::new)
    }

    /// The file's text without the line ends that editors leave at its end.
    fn secret_file(&self, name: &str) -> Option<String> {
        let folder = self.settings.secrets_folder.as_deref()?;
        // The name comes from a flow, and nothing outside the folder is a secret of the project.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.is_empty() || !name.chars().all(is_plain) {
            return None;
        }
        let path = self.root.join(folder).join(name);
        let read = || -> std::io::Result<Option<String>> {
            if !path.is_file() {
                return Ok(None);
            }
            let mut text = String::new();
            std::fs::File::open(&path)?.take(LONGEST + 1).read_to_string(&mut text)?;
            if text.len() as u64 > LONGEST {
                return Err(std::io::Error::other(format!("it is longer than {LONGEST} bytes")));
            }
            Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()).filter(|text| !text.is_empty()))
        };
        read().unwrap_or_else(|error| {
            terminal::error(&format!("warning: the secret in {} can not be read: {error}", path.display()));
            None
        })
    }
}
