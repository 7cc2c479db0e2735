//! What a project says about its system document: whose it is, how strictly it is checked, who signs it and
//! how it is deployed.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use stave_system::deploy::DeployOptions;
use stave_system::policy::{Check, CheckPolicies, Level};
use stave_system::sign::{Minimums, PublicKey, TrustSettings};
use toml::de::DeValue;

use super::Project;
use super::read::{Reader, Table};

/// The tenant of a project that names none.
const LOCAL: &str = "local";

/// What the names of folders and keys are not made of.
const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// Who signs, and whose signatures count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Signing {
    /// Whether an artefact without a trusted signature is refused.
    pub(crate) required: bool,
    /// Which signatures count.
    pub(crate) trust: TrustSettings,
    /// The secret key's file, relative to the project.
    pub(crate) key: Option<String>,
}

impl Project {
    pub(crate) fn tenant(&self) -> &str {
        self.settings.tenant.as_deref().unwrap_or(LOCAL)
    }

    /// The repository: as the project names it, else the folder's name.
    pub(crate) fn repo(&self) -> String {
        let folder = || self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        self.settings
            .repo
            .clone()
            .or_else(folder)
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| LOCAL.to_owned())
    }

    /// Tenant and repository in letters that folders and keys are made of. Different names stay different.
    pub(crate) fn plain_names(&self) -> [String; 2] {
        [self.tenant(), &self.repo()].map(|name| utf8_percent_encode(name, UNSAFE).to_string())
    }
}

impl Reader<'_> {
    pub(super) fn checks(&mut self, root: &Table<'_>) -> CheckPolicies {
        let mut policies = CheckPolicies::default();
        let Some(checks) = self.table(root, "checks") else { return policies };
        self.known(checks, "checks.", &Check::ALL.map(Check::setting));
        for check in Check::ALL {
            let Some(word) = self.text(checks, check.setting()) else { continue };
            match Level::of(&word) {
                Some(level) => policies.set(check, level),
                None => self.bad_value(checks, check.setting(), "\"off\", \"warn\" or \"error\""),
            }
        }
        policies
    }

    pub(super) fn signing(&mut self, root: &Table<'_>) -> Signing {
        let Some(signing) = self.table(root, "signing") else { return Signing::default() };
        let known = ["required", "trusted", "revoked", "minimum", "unversioned", "key"];
        self.known(signing, "signing.", &known);
        let texts = self.texts(signing, "trusted").unwrap_or_default();
        let keys: Vec<_> = texts.iter().map(|text| PublicKey::from_hex(text)).collect();
        if keys.iter().any(Result::is_err) {
            self.bad_value(signing, "trusted", "a list of public keys, each of 64 hexadecimal digits");
        }
        let texts = self.texts(signing, "revoked").unwrap_or_default();
        let revoked: Vec<Option<String>> = texts.iter().map(|text| key_id(text)).collect();
        if revoked.iter().any(Option::is_none) {
            self.bad_value(signing, "revoked", "a list of key ids (`ed25519:` and 16 digits) or public keys");
        }
        Signing {
            required: self.flag(signing, "required").unwrap_or(false),
            trust: TrustSettings {
                trusted: keys.into_iter().flatten().collect(),
                revoked: revoked.into_iter().flatten().collect(),
                minimum: self.minimum(signing),
                unversioned: self.flag(signing, "unversioned").unwrap_or(false),
            },
            key: self.text(signing, "key"),
        }
    }

    /// The least version counters: one for everything, or a table of names in which `*` stands for the rest.
    fn minimum(&mut self, signing: &Table<'_>) -> Minimums {
        const KEY: &str = "minimum";
        let mut minimums = Minimums::default();
        match signing.get(KEY).map(toml::Spanned::get_ref) {
            None => {}
            Some(DeValue::Table(named)) => {
                for name in named.keys() {
                    let name = name.get_ref().as_ref();
                    let Some(least) = self.positive(named, name) else { continue };
                    match name {
                        "*" => minimums.project = least,
                        _ => drop(minimums.named.insert(name.to_owned(), least)),
                    }
                }
            }
            Some(_) => minimums.project = self.positive(signing, KEY).unwrap_or_default(),
        }
        minimums
    }

    pub(super) fn deploy(&mut self, root: &Table<'_>) -> DeployOptions {
        let Some(deploy) = self.table(root, "deploy") else { return DeployOptions::default() };
        self.known(deploy, "deploy.", &["image", "registry"]);
        DeployOptions { image: self.text(deploy, "image"), registry: self.text(deploy, "registry") }
    }
}

/// The id of a key that is named by its id or in full.
fn key_id(text: &str) -> Option<String> {
    if let Ok(key) = PublicKey::from_hex(text) {
        return Some(key.id());
    }
    let digits = text.strip_prefix("ed25519:")?;
    let is_id = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}
