//! Where the secrets of a project come from: variables of the environment, or a folder with a file for each, as
//! containers mount them.

use stave_llm::Secret;

use super::Project;
use crate::{files, terminal};

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
        if !path.exists() {
            return None;
        }
        let text = match files::read_plain(&path, LONGEST) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match text {
            Ok(text) => Some(text.trim_end_matches(['\r', '\n']).to_owned()).filter(|text| !text.is_empty()),
            Err(error) => {
                terminal::error(&format!("warning: the secret in {} {error}", path.display()));
                None
            }
        }
    }
}
