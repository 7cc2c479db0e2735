//! `[engine]`: what keeps and drives runs.

use toml::de::DeValue;

use super::read::{Reader, Table};
use crate::args::EngineKind;

/// What a project sets about its engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct EngineSettings {
    pub(crate) kind: Option<EngineKind>,
    /// The admin addresses of Restate.
    pub(crate) url: Vec<String>,
    pub(crate) ingress: Vec<String>,
    /// Where a worker listens, and where Restate finds it.
    pub(crate) worker_listen: Option<String>,
    pub(crate) worker_url: Option<String>,
}

impl Reader<'_> {
    pub(super) fn engine(&mut self, root: &Table<'_>) -> EngineSettings {
        let Some(engine) = self.table(root, "engine") else { return EngineSettings::default() };
        self.known(engine, "engine.", &["kind", "url", "ingress", "worker_listen", "worker_url"]);
        let kind = match self.text(engine, "kind").as_deref() {
            None => None,
            Some("embedded") => Some(EngineKind::Embedded),
            Some("restate") => Some(EngineKind::Restate),
            Some(_) => {
                self.bad_value(engine, "kind", "\"embedded\" or \"restate\"");
                None
            }
        };
        EngineSettings {
            kind,
            url: self.addresses(engine, "url"),
            ingress: self.addresses(engine, "ingress"),
            worker_listen: self.text(engine, "worker_listen"),
            worker_url: self.text(engine, "worker_url"),
        }
    }

    /// One address, or a list of them.
    fn addresses(&mut self, engine: &Table<'_>, key: &str) -> Vec<String> {
        match engine.get(key).map(toml::Spanned::get_ref) {
            Some(DeValue::Array(_)) => self.texts(engine, key).unwrap_or_default(),
            Some(_) => self.text(engine, key).into_iter().collect(),
            None => Vec::new(),
        }
    }
}
