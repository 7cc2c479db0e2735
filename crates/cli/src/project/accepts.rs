//! `[accepts]`: how sensitive the data may be that receivers outside a flow are given; `[labels]`: what the project says
//! about the data itself.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};
use stave_flow::model::Sensitivity;
use stave_flow::{Options, Scopes};
use stave_script::address::listed_host;

use super::Settings;
use super::read::{Reader, Table};
use super::stores::StateBackend;

/// An entry of the lists of hosts.
const A_HOST: &str = "`HOST` or `HOST:PORT`";

impl Reader<'_> {
    pub(super) fn accepts(&mut self, root: &Table<'_>) -> Scopes {
        let Some(accepts) = self.table(root, "accepts") else { return Scopes::default() };
        self.known(accepts, "accepts.", &["providers", "hosts", "tools", "stores", "restricted"]);
        if let Some(stores) = self.table(accepts, "stores") {
            let known = ["features", "state", "redis", "hopsworks", "cache", "telemetry"];
            self.known(stores, "accepts.stores.", &known);
        }
        Scopes {
            providers: self.levels(accepts, "providers"),
            hosts: self.levels(accepts, "hosts"),
            tools: self.levels(accepts, "tools"),
            stores: self.levels(accepts, "stores"),
            ..Scopes::default()
        }
    }

    /// `[labels]`: the least sensitivity of context fields, and the outputs that flows may label lower than what goes
    /// into them, each with the reason.
    pub(super) fn labels(&mut self, root: &Table<'_>, scopes: &mut Scopes) {
        let Some(labels) = self.table(root, "labels") else { return };
        self.known(labels, "labels.", &["context", "declassify"]);
        scopes.fields = self.levels(labels, "context");
        let Some(table) = self.table(labels, "declassify") else { return };
        for name in table.keys().map(|name| name.get_ref().to_string()) {
            let Some(reason) = self.text(table, &name) else { continue };
            let is_output = name.split_once('/').is_some_and(|(_, output)| output.contains('.'));
            if !is_output || reason.trim().is_empty() {
                self.bad_value(table, &name, "`\"FLOW/NODE.OUTPUT\" = \"the reason\"`");
                continue;
            }
            scopes.declassify.insert(name, reason);
        }
    }

    /// What happens to restricted data on its way to a model that may not have it.
    pub(super) fn restricted(&mut self, root: &Table<'_>) -> Option<String> {
        let accepts = self.table(root, "accepts")?;
        let word = self.text(accepts, "restricted")?;
        if ["refuse", "redact"].contains(&word.as_str()) || word.starts_with("route:") {
            return Some(word);
        }
        self.bad_value(accepts, "restricted", "\"refuse\", \"redact\" or \"route:\" and a provider");
        None
    }

    /// A list of hosts, each with or without a port.
    pub(super) fn hosts(&mut self, table: &Table<'_>, key: &str) -> Option<Vec<String>> {
        let entries = self.texts(table, key)?;
        let hosts: Option<Vec<String>> = entries.iter().map(|entry| listed_host(entry)).collect();
        if hosts.is_none() {
            self.bad_value(table, key, &format!("a list of hosts, each {A_HOST}"));
        }
        hosts
    }

    fn levels(&mut self, accepts: &Table<'_>, key: &str) -> BTreeMap<String, Sensitivity> {
        let Some(table) = self.table(accepts, key) else { return BTreeMap::new() };
        let mut levels = BTreeMap::new();
        for name in table.keys().map(|name| name.get_ref().to_string()) {
            match self.text(table, &name).map(|word| Sensitivity::from_word(&word)) {
                Some(Some(level)) => {
                    let entry = if key == "hosts" { listed_host(&name) } else { Some(name.clone()) };
                    match entry {
                        Some(entry) => drop(levels.insert(entry, level)),
                        None => self.bad_value(table, &name, &format!("the level of {A_HOST}")),
                    }
                }
                Some(None) => {
                    self.bad_value(table, &name, "\"public\", \"private\" or \"restricted\"");
                }
                None => {}
            }
        }
        levels
    }
}

impl Settings {
    /// What model calls are governed by, for the policy that is baked into documents; empty when the project
    /// says nothing.
    pub(crate) fn sensitivity(&self) -> Object {
        let levels = |levels: &BTreeMap<String, Sensitivity>| -> Object {
            levels.iter().map(|(name, level)| (name.clone(), Value::from(level.word()))).collect()
        };
        let Scopes { providers, hosts, tools, stores, .. } = &self.accepts;
        let tables = [("providers", providers), ("hosts", hosts), ("tools", tools), ("stores", stores)];
        let tables = tables.map(|(key, table)| (key, levels(table)));
        let accepts: Object = tables
            .into_iter()
            .filter(|(_, table)| !table.is_empty())
            .map(|(key, table)| (key.to_owned(), table.into()))
            .collect();
        let mut sensitivity = Object::new();
        if !accepts.is_empty() {
            sensitivity.insert("accepts".to_owned(), accepts.into());
        }
        let fields = levels(&self.accepts.fields);
        if !fields.is_empty() {
            sensitivity.insert("fields".to_owned(), fields.into());
        }
        let reasons = self.accepts.declassify.iter();
        let reasons: Object = reasons.map(|(name, reason)| (name.clone(), reason.as_str().into())).collect();
        if !reasons.is_empty() {
            sensitivity.insert("declassify".to_owned(), reasons.into());
        }
        if let Some(restricted) = &self.restricted {
            sensitivity.insert("restricted".to_owned(), restricted.as_str().into());
        }
        sensitivity
    }

    /// How the flows of the project are judged.
    pub(crate) fn check_options(&self, strict: bool) -> Options {
        let model = self.default_model.as_ref();
        let is_server = |backend| self.stores.state == Some(backend);
        let servers = [
            ("state", is_server(StateBackend::Redis) || is_server(StateBackend::Hopsworks)),
            ("redis", self.stores.redis.is_some()),
            ("hopsworks", self.stores.hopsworks.is_some()),
        ];
        let servers = servers.into_iter().filter(|(_, is_server)| *is_server);
        let scopes = Scopes {
            servers: servers.map(|(name, _)| name.to_owned()).collect(),
            default_model: model.map(|model| (model.provider.clone(), model.endpoint.clone())),
            ..self.accepts.clone()
        };
        let mut providers: Vec<String> = model.map(|model| model.provider.clone()).into_iter().collect();
        providers.extend(self.accepts.providers.keys().cloned());
        Options { strict, providers, scopes, allow: Some(self.allow_lists()) }
    }
}
