//! `[accepts]`: how sensitive the data may be that receivers outside a flow are given; `[labels]`: what the project says
//! about the data itself.

use std::collections::BTreeMap;

use stave_canon::{Object, Value};
use stave_flow::model::Sensitivity;
use stave_flow::{CheckOptions, Scopes};
use stave_script::address::listed_host;
use stave_shape::{FaultKind, Pattern, Place, Reader, Shape, ValueNode};

use super::Settings;
use super::gate::ProvenanceTable;
use super::listed_host::A_HOST;
use super::stores::StateBackend;

/// The most sensitive data that receivers outside a flow may be given.
#[derive(Debug, Default, Shape)]
#[shape(not_null, check = hosts_are_named)]
pub(super) struct AcceptsTable {
    /// Model providers by name; a provider that is not listed is given private data at most.
    #[shape(default)]
    providers: BTreeMap<String, Sensitivity>,
    /// Hosts by name.
    #[shape(default)]
    hosts: BTreeMap<String, Sensitivity>,
    /// Tools by `server/tool`.
    #[shape(default)]
    tools: BTreeMap<String, Sensitivity>,
    #[shape(default)]
    stores: AcceptingStores,
    /// What happens to restricted data on its way to a model that may not have it: "refuse", "redact", or "route:" and a
    /// provider that may.
    #[shape(pattern = RESTRICTED)]
    pub(super) restricted: Option<String>,
}

fn hosts_are_named<N: ValueNode>(
    accepts: Option<&AcceptsTable>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(hosts) = node.member("hosts").filter(|_| accepts.is_some()) else { return };
    hosts.members(|key, member| {
        if listed_host(key.text).is_none() {
            let kind = FaultKind::rule("value", format!("must be the level of {A_HOST}"));
            reader.fault(&at.key("hosts").key(key.text), member.span(), kind);
        }
    });
}

const RESTRICTED: Pattern = Pattern {
    name: "\"refuse\", \"redact\" or \"route:\" and a provider",
    expression: "^(refuse|redact|route:.*)$",
    fits: |word| ["refuse", "redact"].contains(&word) || word.starts_with("route:"),
};

/// The same for what the project itself keeps.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
struct AcceptingStores {
    /// The feature store.
    features: Option<Sensitivity>,
    /// The state store.
    state: Option<Sensitivity>,
    /// Redis.
    redis: Option<Sensitivity>,
    /// Hopsworks.
    hopsworks: Option<Sensitivity>,
    /// Results that later runs take over.
    cache: Option<Sensitivity>,
    /// Traces with content.
    telemetry: Option<Sensitivity>,
}

/// What the project says about the data itself.
#[derive(Debug, Default, Shape)]
#[shape(not_null, check = reasons_are_given)]
pub(super) struct LabelsTable {
    /// The least sensitivity of context fields, by name.
    #[shape(default)]
    context: BTreeMap<String, Sensitivity>,
    /// The outputs that flows may label lower than what goes into them, as `FLOW/NODE.OUTPUT`, each with the reason.
    #[shape(default)]
    declassify: BTreeMap<String, String>,
    #[shape(default)]
    pub(super) provenance: ProvenanceTable,
}

fn is_reason(output: &str, reason: &str) -> bool {
    output.split_once('/').is_some_and(|(_, output)| output.contains('.')) && !reason.trim().is_empty()
}

fn reasons_are_given<N: ValueNode>(
    labels: Option<&LabelsTable>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(declassify) = node.member("declassify").filter(|_| labels.is_some()) else { return };
    declassify.members(|key, member| {
        if member.text().is_some_and(|reason| !is_reason(key.text, reason)) {
            let kind = FaultKind::rule("value", "must be `\"FLOW/NODE.OUTPUT\" = \"the reason\"`");
            reader.fault(&at.key("declassify").key(key.text), member.span(), kind);
        }
    });
}

impl AcceptsTable {
    pub(super) fn scopes(self, labels: LabelsTable) -> Scopes {
        let stores = self.stores.write();
        let word = |value: &Value| value.as_str().and_then(Sensitivity::from_word);
        Scopes {
            providers: self.providers,
            hosts: self
                .hosts
                .into_iter()
                .filter_map(|(name, level)| Some((listed_host(&name)?, level)))
                .collect(),
            tools: self.tools,
            stores: stores
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name.clone(), word(value)?)))
                .collect(),
            fields: labels.context,
            declassify: labels
                .declassify
                .into_iter()
                .filter(|(output, reason)| is_reason(output, reason))
                .collect(),
            ..Scopes::default()
        }
    }
}

impl Settings {
    /// What model calls are governed by, for the policy that is baked into documents; empty when the project
    /// says nothing.
    pub fn sensitivity(&self) -> Object {
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

    /// How the flows of the project are judged, as far as its settings say it.
    pub(crate) fn check_options(&self, strict: bool) -> CheckOptions {
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
        CheckOptions {
            strict,
            providers,
            scopes,
            allow: Some(self.allow_lists()),
            prompts: None,
            stores: self.shared_stores(),
            costs: None,
            project_rules: Vec::new(),
        }
    }
}
