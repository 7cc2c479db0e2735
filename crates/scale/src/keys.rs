//! The keys under which Restate keeps what belongs to a project.
//!
//! A key is a JSON list, so that no name can be made up to look like two.

use stave_canon::Value;
use stave_runtime::state::RecordKey;

/// The services of this crate, as Restate knows them.
pub(crate) const RUN: &str = "StaveRun";
pub(crate) const STEP: &str = "StaveStep";
pub(crate) const SESSION: &str = "StaveSession";
pub(crate) const STATE: &str = "StaveState";
pub(crate) const CALLS: &str = "StaveCalls";
pub(crate) const STORE: &str = "StaveStore";

/// A project of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectKey {
    pub tenant: String,
    pub repo: String,
}

impl ProjectKey {
    #[must_use]
    pub fn new(tenant: impl Into<String>, repo: impl Into<String>) -> ProjectKey {
        ProjectKey { tenant: tenant.into(), repo: repo.into() }
    }

    /// The project as one text.
    pub(crate) fn text(&self) -> String {
        list(&[&self.tenant, &self.repo])
    }

    pub(crate) fn of_text(text: &str) -> Option<ProjectKey> {
        match parts(text)?.as_slice() {
            [tenant, repo] => Some(ProjectKey::new(tenant, repo)),
            _ => None,
        }
    }

    pub(crate) fn run(&self, run: &str) -> String {
        list(&[&self.tenant, &self.repo, run])
    }

    /// What the keys of all runs of the project begin with.
    pub(crate) fn runs(&self) -> String {
        let mut beginning = self.text();
        beginning.pop();
        beginning.push(',');
        beginning
    }

    /// The run of a key, when it is one of this project.
    pub(crate) fn run_of(&self, key: &str) -> Option<String> {
        match parts(key)?.as_slice() {
            [tenant, repo, run] if *tenant == self.tenant && *repo == self.repo => Some(run.clone()),
            _ => None,
        }
    }

    /// The turns of a session of a flow.
    pub(crate) fn session(&self, flow: &str, session: &str) -> String {
        list(&[&self.tenant, &self.repo, flow, session])
    }

    /// The object that holds a record: one for each session of a flow, and one for each run.
    pub(crate) fn state(&self, record: &RecordKey) -> Option<String> {
        let (flow, scope, owner) = record.owner()?;
        Some(self.state_of(&flow, &scope, &owner))
    }

    pub(crate) fn state_of(&self, flow: &str, scope: &str, owner: &str) -> String {
        list(&[&self.tenant, &self.repo, flow, scope, owner])
    }

    /// The answers to the calls that a step has made.
    pub(crate) fn calls(&self, run: &str, node: &str) -> String {
        list(&[&self.tenant, &self.repo, run, node])
    }

    /// A value of a run, by its hash.
    pub(crate) fn stored(&self, run: &str, hash: &str) -> String {
        list(&[&self.tenant, &self.repo, run, hash])
    }

    pub(crate) fn document(&self, hash: &str) -> String {
        list(&[&self.tenant, &self.repo, hash])
    }
}

fn list(parts: &[&str]) -> String {
    stave_canon::compact_utf8(&Value::Array(parts.iter().map(|part| Value::from(*part)).collect()))
}

fn parts(text: &str) -> Option<Vec<String>> {
    let value = stave_canon::parse(text).ok()?;
    value.as_array()?.iter().map(|part| part.as_str().map(str::to_owned)).collect()
}

/// A key as a part of a path.
pub(crate) fn in_path(key: &str) -> String {
    stave_canon::percent_encode(key)
}

/// A text inside quotes of a query.
pub(crate) fn in_query(text: &str) -> String {
    text.replace('\'', "''")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_projects_share_a_key() {
        let (one, other) = (ProjectKey::new("a", "b\",\"c"), ProjectKey::new("a\",\"b", "c"));
        assert_ne!(one.run("r"), other.run("r"));
        assert_eq!(one.run_of(&one.run("r")).as_deref(), Some("r"));
        assert_eq!(other.run_of(&one.run("r")), None);
        assert!(one.run("r").starts_with(&one.runs()));
        assert_eq!(ProjectKey::of_text(&one.text()), Some(one));
    }

    #[test]
    fn a_key_is_one_part_of_a_path_and_ends_no_quote() {
        assert_eq!(in_path("[\"a/b\",\"ü\"]"), "%5B%22a%2Fb%22%2C%22%C3%BC%22%5D");
        assert_eq!(in_query("it's"), "it''s");
    }
}
