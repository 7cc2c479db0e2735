//! What a project lists for its flows: secrets with their hosts, variables, hosts of models and of requests.
//!
//! Invariant: the checker and the runtime decide with these functions, so that both refuse the same things in the same
//! words. What is not listed is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The secrets that flows may name, each with the hosts that may receive it. Hosts are written as
/// [`crate::address::host_name`] writes them.
pub type SecretHosts = BTreeMap<String, BTreeSet<String>>;

/// The lists of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowLists {
    pub secrets: SecretHosts,
    /// The variables that `deployment.context` may read.
    pub variables: BTreeSet<String>,
    /// The hosts that a model's endpoint may have, besides the provider's own.
    pub model_hosts: BTreeSet<String>,
    /// The providers' own hosts, by provider.
    pub provider_hosts: BTreeMap<String, String>,
    /// The hosts that requests may go to; `None` allows every public one.
    pub http_hosts: Option<BTreeSet<String>>,
}

/// Something that the project does not list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    pub message: String,
    /// The line to write.
    pub help: String,
}

impl fmt::Display for Unlisted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.message, self.help)
    }
}

/// Why flows may not use a secret at all. `host` is the receiver to propose, when it is known.
#[must_use]
pub fn unlisted_secret(listed: &SecretHosts, name: &str, host: Option<&str>) -> Option<Unlisted> {
    (!listed.contains_key(name)).then(|| Unlisted {
        message: format!("secret `{name}` is not listed in the project"),
        help: format!("add `[secrets.{name}]` with `hosts = [\"{}\"]` to stave.toml", host.unwrap_or("HOST")),
    })
}

/// Why a secret may not be sent to a host. A host that is not known receives nothing.
#[must_use]
pub fn secret_refusal(listed: &SecretHosts, name: &str, host: Option<&str>) -> Option<Unlisted> {
    let Some(hosts) = listed.get(name) else { return unlisted_secret(listed, name, host) };
    if host.is_some_and(|host| hosts.contains(host)) {
        return None;
    }
    let (receiver, proposed) = match host {
        Some(host) => (format!("host `{host}`"), host),
        None => ("the host of the address".to_owned(), "HOST"),
    };
    Some(Unlisted {
        message: format!("secret `{name}` is not listed for {receiver}"),
        help: format!("add \"{proposed}\" to `hosts` in `[secrets.{name}]` of stave.toml"),
    })
}

/// Why a context field may not be taken from a variable.
#[must_use]
pub fn variable_refusal(listed: &BTreeSet<String>, name: &str) -> Option<Unlisted> {
    (!listed.contains(name)).then(|| Unlisted {
        message: format!("variable `{name}` is not listed in the project"),
        help: format!("add \"{name}\" to `env` in `[context]` of stave.toml"),
    })
}

/// Why a model may not be asked at a host. `own` is the provider's own host.
#[must_use]
pub fn model_host_refusal(listed: &BTreeSet<String>, own: Option<&str>, host: &str) -> Option<Unlisted> {
    (own != Some(host) && !listed.contains(host)).then(|| Unlisted {
        message: format!("host `{host}` of the model's endpoint is not one that the project names"),
        help: "list it under `[models] hosts` in stave.toml".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_to_its_hosts_and_nowhere_else() {
        let hosts = BTreeSet::from(["api.example.com".to_owned()]);
        let listed =
            SecretHosts::from([("TOKEN".to_owned(), hosts), ("NOWHERE".to_owned(), BTreeSet::new())]);
        assert_eq!(secret_refusal(&listed, "TOKEN", Some("api.example.com")), None);
        for (name, host, said) in [
            ("TOKEN", Some("evil.example"), "secret `TOKEN` is not listed for host `evil.example`"),
            ("TOKEN", Some("api.example.com.evil.example"), "is not listed for host"),
            ("TOKEN", None, "is not listed for the host of the address"),
            ("NOWHERE", Some("api.example.com"), "is not listed for host"),
            ("token", Some("api.example.com"), "secret `token` is not listed in the project"),
            ("OTHER", None, "secret `OTHER` is not listed in the project"),
        ] {
            let refusal = secret_refusal(&listed, name, host).expect(name);
            assert!(refusal.message.contains(said), "{refusal}");
        }
    }
}
