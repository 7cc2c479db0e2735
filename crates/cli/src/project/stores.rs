//! Where a project keeps what it remembers, and where its features are.

use std::collections::BTreeMap;

use stave_diag::Diagnostic;
use stave_diag::codes::project as codes;
use stave_runtime::features::FeatureGroup;
use toml::Spanned;

use super::Project;
use super::read::{Reader, Table};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateBackend {
    Memory,
    Sqlite,
    Redis,
    Hopsworks,
}

/// The stores that a project sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StoreSettings {
    pub(crate) state: Option<StateBackend>,
    pub(crate) redis: Option<Address>,
    pub(crate) hopsworks: Option<Address>,
    /// How the rows of feature groups are keyed and timed.
    pub(crate) groups: BTreeMap<String, FeatureGroup>,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// The address itself, which holds no password.
    Literal(String),
    /// The secret that it is.
    Secret(String),
}

impl Project {
    /// The address of the Redis server: the project's, or that of `REDIS_URL`.
    pub(crate) fn redis_address(&self) -> Option<String> {
        self.address(self.settings.stores.redis.as_ref(), "REDIS_URL")
    }

    /// The address of the online feature store: the project's, or that of `HOPSWORKS_URL`.
    pub(crate) fn hopsworks_address(&self) -> Option<String> {
        self.address(self.settings.stores.hopsworks.as_ref(), "HOPSWORKS_URL")
    }

    fn address(&self, set: Option<&Address>, usual: &str) -> Option<String> {
        let name = match set {
            Some(Address::Literal(address)) => return Some(address.clone()),
            Some(Address::Secret(name)) => name,
            None => usual,
        };
        self.secret(name).map(|address| address.expose().to_owned())
    }
}

impl Reader<'_> {
    pub(super) fn stores(&mut self, root: &Table<'_>) -> StoreSettings {
        let mut settings = StoreSettings::default();
        if let Some(state) = self.table(root, "state") {
            self.known(state, "state.", &["backend", "url"]);
            settings.state = match self.text(state, "backend").as_deref() {
                None => None,
                Some("memory") => Some(StateBackend::Memory),
                Some("sqlite") => Some(StateBackend::Sqlite),
                Some("redis") => Some(StateBackend::Redis),
                Some("hopsworks") => Some(StateBackend::Hopsworks),
                Some(_) => {
                    self.bad_value(state, "backend", "\"memory\", \"sqlite\", \"redis\" or \"hopsworks\"");
                    None
                }
            };
            settings.redis = self.address(state);
        }
        if let Some(hopsworks) = self.table(root, "hopsworks") {
            self.known(hopsworks, "hopsworks.", &["url"]);
            settings.hopsworks = self.address(hopsworks);
        }
        if let Some(features) = self.table(root, "features") {
            for key in features.keys() {
                let name = key.get_ref().as_ref();
                if let Some(group) = self.table(features, name) {
                    settings.groups.insert(name.to_owned(), self.group(name, group));
                }
            }
        }
        settings
    }

    fn group(&mut self, name: &str, group: &Table<'_>) -> FeatureGroup {
        self.known(group, &format!("features.{name}."), &["key", "event_time"]);
        FeatureGroup {
            key: self.texts(group, "key").unwrap_or_default(),
            event_time: self.text(group, "event_time"),
        }
    }

    /// `url`: a variable of the environment, or an address without a password.
    fn address(&mut self, table: &Table<'_>) -> Option<Address> {
        let text = self.text(table, "url")?;
        if let Some(name) = text.strip_prefix("${secrets.").and_then(|rest| rest.strip_suffix('}')) {
            return Some(Address::Secret(name.to_owned()));
        }
        let parsed = url::Url::parse(&text);
        if parsed.as_ref().is_ok_and(|url| url.password().is_some()) {
            let range = table.get("url").map_or(0..0, Spanned::span);
            let message = "`url` holds a password";
            let help = "set the address in the environment, and write `url = \"${secrets.NAME}\"`";
            let diagnostic = Diagnostic::new(codes::SECRET_IN_PROJECT_FILE, self.span(&range), message);
            self.diagnostics.push(diagnostic.help(help));
            return None;
        }
        if parsed.is_err() {
            self.bad_value(table, "url", "an address, or \"${secrets.NAME}\"");
            return None;
        }
        Some(Address::Literal(text))
    }
}
