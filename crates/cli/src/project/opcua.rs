//! `[opcua]`: the plants that flows may reach, and how connections to them are secured.

use super::read::{Reader, Table};

/// The security policies that the protocol still counts as safe.
const POLICIES: [&str; 3] = ["Basic256Sha256", "Aes128-Sha256-RsaOaep", "Aes256-Sha256-RsaPss"];
const MODES: [&str; 2] = ["Sign", "SignAndEncrypt"];

/// What a project sets about plants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OpcuaSettings {
    /// The addresses that flows may name; none when empty.
    pub(crate) allow: Vec<String>,
    pub(crate) timeout_ms: Option<u64>,
    /// None leaves connections unprotected.
    pub(crate) policy: Option<String>,
    pub(crate) mode: Option<String>,
    /// The folder with this program's certificate and those it trusts, relative to the project.
    pub(crate) pki: Option<String>,
    pub(crate) user: Option<String>,
    /// The variable that holds the user's password.
    pub(crate) password: Option<String>,
}

impl Reader<'_> {
    pub(super) fn opcua(&mut self, root: &Table<'_>) -> OpcuaSettings {
        let Some(opcua) = self.table(root, "opcua") else { return OpcuaSettings::default() };
        self.known(
            opcua,
            "opcua.",
            &["allow", "timeout_ms", "policy", "mode", "pki", "user", "password_from"],
        );
        let settings = OpcuaSettings {
            allow: self.texts(opcua, "allow").unwrap_or_default(),
            timeout_ms: self.positive(opcua, "timeout_ms"),
            policy: self.one_of(opcua, "policy", &POLICIES),
            mode: self.one_of(opcua, "mode", &MODES),
            pki: self.text(opcua, "pki"),
            user: self.text(opcua, "user"),
            password: self.text(opcua, "password_from"),
        };
        // A password would otherwise go over the wire for everyone to read.
        if settings.user.is_some() && settings.policy.is_none() {
            self.bad_value(opcua, "user", "set together with a `policy`, which protects the password");
        }
        settings
    }

    fn one_of(&mut self, table: &Table<'_>, key: &str, known: &[&str]) -> Option<String> {
        let word = self.text(table, key)?;
        if known.contains(&word.as_str()) {
            return Some(word);
        }
        self.bad_value(table, key, &format!("one of {}", known.join(", ")));
        None
    }
}
