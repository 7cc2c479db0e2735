//! What a project lists for its flows: secrets with their hosts, variables, hosts of models and of requests, files for
//! prompts.
//!
//! Invariant: the checker and the runtime decide with these functions, so that both refuse the same things in the same
//! words. What is not listed is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::address::{HostPort, plant_address};
use crate::path_glob::PathPattern;

/// The secrets that flows may name, each with the hosts that may receive it. Hosts are written as
/// [`crate::address::listed_host`] writes them.
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
    /// Patterns of the files that `context_refs` of flows may name.
    pub context_files: Vec<String>,
    /// The addresses of the plants that flows may reach.
    pub plants: Vec<String>,
    /// The names of the tool servers.
    pub tool_servers: BTreeSet<String>,
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
pub fn unlisted_secret(listed: &SecretHosts, name: &str, host: Option<&HostPort>) -> Option<Unlisted> {
    (!listed.contains_key(name)).then(|| Unlisted {
        message: format!("secret `{name}` is not listed in the project"),
        help: format!(
            "add `[secrets.{name}]` with `hosts = [\"{}\"]` to stave.toml",
            host.map_or("HOST", HostPort::name)
        ),
    })
}

/// Why a secret may not be sent to a host. A host that is not known receives nothing.
#[must_use]
pub fn secret_refusal(listed: &SecretHosts, name: &str, host: Option<&HostPort>) -> Option<Unlisted> {
    let Some(hosts) = listed.get(name) else { return unlisted_secret(listed, name, host) };
    if host.is_some_and(|host| host.is_in(hosts)) {
        return None;
    }
    let (receiver, proposed) = match host {
        Some(host) => {
            let shown = host.shown_beside(hosts);
            (format!("host `{shown}`"), shown)
        }
        None => ("the host of the address".to_owned(), "HOST".to_owned()),
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
pub fn model_host_refusal(listed: &BTreeSet<String>, own: Option<&str>, host: &HostPort) -> Option<Unlisted> {
    (own != Some(host.name()) && !host.is_in(listed)).then(|| Unlisted {
        message: format!(
            "host `{}` of the model's endpoint is not one that the project names",
            host.shown_beside(listed)
        ),
        help: "list it under `[models] hosts` in stave.toml".to_owned(),
    })
}

/// Why a request to a host is not allowed, when the project lists the hosts of requests.
#[must_use]
pub fn http_host_refusal(listed: &BTreeSet<String>, host: &HostPort) -> Option<Unlisted> {
    let shown = host.shown_beside(listed);
    (!host.is_in(listed)).then(|| Unlisted {
        message: format!("host `{shown}` is not in `http.allow`"),
        help: format!("add \"{shown}\" to `allow` in `[http]` of stave.toml"),
    })
}

/// Why a plant may not be reached.
#[must_use]
pub fn plant_refusal(listed: &[String], endpoint: &str) -> Option<Unlisted> {
    let address = plant_address(endpoint);
    let is_listed = address.is_some() && listed.iter().any(|entry| plant_address(entry) == address);
    (!is_listed).then(|| Unlisted {
        message: format!("plant `{endpoint}` is not in `opcua.allow`"),
        help: "add the address to `allow` in `[opcua]` of stave.toml".to_owned(),
    })
}

/// Why no tool of a server can be called.
#[must_use]
pub fn tool_server_refusal(named: &BTreeSet<String>, server: &str) -> Option<Unlisted> {
    (!named.contains(server)).then(|| Unlisted {
        message: format!("the project names no tool server `{server}`"),
        help: format!("add `[mcp.{server}]` with its `command` or `url` to stave.toml"),
    })
}

/// Why a flow may not put a file into a prompt. The path is relative to the project.
#[must_use]
pub fn context_file_refusal(listed: &[String], path: &str) -> Option<Unlisted> {
    (!listed.iter().any(|pattern| PathPattern::parse(pattern).matches_path(path))).then(|| Unlisted {
        message: format!("`{path}` is not a file that flows may put into prompts"),
        help: "list it under `context_files` in `[prompt]` of stave.toml".to_owned(),
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
        let host = |name: &str| HostPort::of(&format!("https://{name}/"));
        assert_eq!(secret_refusal(&listed, "TOKEN", host("api.example.com").as_ref()), None);
        for (name, receiver, said) in [
            ("TOKEN", Some("evil.example"), "secret `TOKEN` is not listed for host `evil.example`"),
            ("TOKEN", Some("api.example.com.evil.example"), "is not listed for host"),
            ("TOKEN", None, "is not listed for the host of the address"),
            ("NOWHERE", Some("api.example.com"), "is not listed for host"),
            ("token", Some("api.example.com"), "secret `token` is not listed in the project"),
            ("OTHER", None, "secret `OTHER` is not listed in the project"),
        ] {
            let refusal = secret_refusal(&listed, name, receiver.and_then(host).as_ref()).expect(name);
            assert!(refusal.message.contains(said), "{refusal}");
        }
    }
}
