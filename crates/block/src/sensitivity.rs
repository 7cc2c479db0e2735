//! Where content may go.
//!
//! Invariant: [`gate`] lets `restricted` content through only to a destination inside the scope it came
//! from, whatever else is true.

use std::fmt;

use thiserror::Error;

use crate::Sensitivity;

/// A place that data belongs to, as a path of names: `acme`, `acme/support`, `acme/support/session-1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataScope(String);

/// Where content is about to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination<'d> {
    /// A model, host, tool or store that belongs to this scope.
    Within(&'d DataScope),
    /// A model, host or tool outside every scope that serves this one request.
    External,
    /// Something that others read too: a shared cache, a log, an exported artefact.
    Shared,
}

/// Content that was about to go where its label forbids.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{label} content of {origin} must not go to {destination}")]
pub struct Leak {
    pub label: Sensitivity,
    pub origin: DataScope,
    /// In words.
    pub destination: String,
}

impl DataScope {
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        DataScope(path.into())
    }

    /// Whether `other` is this scope or lies inside it.
    #[must_use]
    pub fn contains(&self, other: &DataScope) -> bool {
        other.0.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Whether content may go to a destination. Public content may go anywhere. Private content may serve its
/// own request but is not put where others read it. Restricted content stays inside its scope.
pub fn gate(label: Sensitivity, origin: &DataScope, destination: Destination<'_>) -> Result<(), Leak> {
    let allowed = match (label, destination) {
        (Sensitivity::Public, _) => true,
        (_, Destination::Within(scope)) if origin.contains(scope) => true,
        (Sensitivity::Private, Destination::Within(_) | Destination::External) => true,
        (Sensitivity::Private, Destination::Shared) | (Sensitivity::Restricted, _) => false,
    };
    if allowed {
        return Ok(());
    }
    Err(Leak { label, origin: origin.clone(), destination: destination.to_string() })
}

impl fmt::Display for DataScope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "scope `{}`", self.0)
    }
}

impl fmt::Display for Destination<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Within(scope) => write!(out, "{scope}"),
            Destination::External => out.write_str("an external receiver"),
            Destination::Shared => out.write_str("a shared receiver"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restricted_content_stays_inside_its_scope() {
        let acme = DataScope::new("acme");
        let session = DataScope::new("acme/support/session-1");
        let acme_two = DataScope::new("acme2");
        for (label, origin, destination, allowed) in [
            (Sensitivity::Restricted, &acme, Destination::Within(&session), true),
            (Sensitivity::Restricted, &session, Destination::Within(&session), true),
            (Sensitivity::Restricted, &session, Destination::Within(&acme), false),
            (Sensitivity::Restricted, &acme, Destination::Within(&acme_two), false),
            (Sensitivity::Restricted, &acme, Destination::External, false),
            (Sensitivity::Restricted, &acme, Destination::Shared, false),
            (Sensitivity::Private, &acme, Destination::External, true),
            (Sensitivity::Private, &acme, Destination::Within(&acme_two), true),
            (Sensitivity::Private, &acme, Destination::Shared, false),
            (Sensitivity::Public, &acme, Destination::Shared, true),
        ] {
            assert_eq!(gate(label, origin, destination).is_ok(), allowed, "{label} to {destination}");
        }
    }

    #[test]
    fn labels_are_ordered_and_join_upwards() {
        assert!(Sensitivity::Public < Sensitivity::Private);
        assert!(Sensitivity::Private < Sensitivity::Restricted);
        let joined = Sensitivity::Public.join(Sensitivity::Restricted);
        assert_eq!(joined, Sensitivity::Restricted);
    }
}
