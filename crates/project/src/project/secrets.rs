//! `[secrets]` and `[context]`: what flows may read from outside, and where it comes from: variables of the environment, or
//! a folder with a file for each, as containers mount them.
//!
//! Invariants: a flow reads only what the project lists. A project that shares its process with other tenants reads
//! nothing from the environment, which is the operator's.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stave_canon::{Value, sha256_hex};
use stave_llm::{Provider, Secret};
use stave_runtime::{HostPort, host_of};
use stave_script::allow_list::{AllowLists, SecretHosts};
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueKind, ValueNode};

use super::listed_host::ListedHost;
use super::{Project, Settings};
use crate::{files, warnings};

/// The longest secret that a file may hold.
const LONGEST: u64 = 64 * 1024;

/// The key of `[secrets]` that is a setting; every other key names a secret.
const FOLDER: &str = "folder";

/// The environment of the process, as far as a project may read it. Clones share one state: once closed, it stays closed
/// for all of them.
#[derive(Debug, Clone, Default)]
pub struct Environment(Arc<AtomicBool>);

impl Environment {
    /// From now on nothing is read.
    pub fn close(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_closed(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    fn variable(&self, name: &str) -> Option<String> {
        if self.is_closed() {
            return None;
        }
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
}

/// What a project lists for its flows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretSettings {
    /// The folder with a file for each secret, relative to the project.
    pub folder: Option<String>,
    /// The secrets that flows may name, with the hosts that may receive them.
    pub listed: SecretHosts,
    /// The variables that flows may take into their context.
    pub variables: BTreeSet<String>,
}

impl Project {
    /// A value by its name: the variable of the environment, else the file of that name in `[secrets] folder`. The
    /// caller has made sure that the project lists the name, or that a setting of the project names it.
    pub fn secret(&self, name: &str) -> Option<Secret> {
        self.environment.variable(name).or_else(|| self.secret_file(name)).map(Secret::new)
    }

    /// The folder of the project's secrets.
    pub fn secrets_folder(&self) -> Option<PathBuf> {
        self.settings.secrets.folder.as_deref().map(|folder| self.root.join(folder))
    }

    /// A digest of the values in the folder of secrets, to detect whether any of them changed.
    pub fn secrets_digest(&self) -> String {
        let entries = self.secrets_folder().and_then(|folder| std::fs::read_dir(folder).ok());
        let names = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let values = names.iter().filter_map(|name| Some((name.as_str(), self.secret_file(name)?.into())));
        sha256_hex(Value::from_iter(values.collect::<Vec<(&str, Value)>>()).to_string())
    }

    /// The file's text without the line ends that editors leave at its end.
    fn secret_file(&self, name: &str) -> Option<String> {
        let folder = self.secrets_folder()?;
        // The name comes from a flow, and nothing outside the folder is a secret of the project.
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.is_empty() || !name.chars().all(is_plain) {
            return None;
        }
        let path = folder.join(name);
        if !path.exists() {
            return None;
        }
        let text = match files::read_plain(&path, LONGEST) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        match text {
            Ok(text) => Some(text.trim_end_matches(['\r', '\n']).to_owned()).filter(|text| !text.is_empty()),
            Err(error) => {
                warnings::warn_once(&format!("the secret in {} {error}", path.display()));
                None
            }
        }
    }
}

impl Settings {
    /// The hosts that the project names for models: they may be asked, and receive providers' keys.
    pub(crate) fn key_hosts(&self) -> BTreeSet<String> {
        // A named model is asked at one port, and another port of its host may be anybody's.
        let named = self.default_model.iter().chain(&self.digest_model).filter_map(|model| {
            HostPort::of(model.endpoint.as_deref()?).and_then(|host| host.entries().next())
        });
        self.model_hosts.iter().cloned().chain(named).collect()
    }

    /// What the project lists for its flows.
    #[must_use]
    pub fn allow_lists(&self) -> AllowLists {
        let requests = self.http_allow.iter().flatten().cloned();
        let accepting = self.accepts.hosts.keys().cloned();
        let own = |provider: Provider| {
            let host = provider.endpoint().and_then(host_of)?;
            Some((provider.word().to_owned(), host))
        };
        AllowLists {
            secrets: self.secrets.listed.clone(),
            variables: self.secrets.variables.clone(),
            model_hosts: self.key_hosts().into_iter().chain(requests.clone()).chain(accepting).collect(),
            provider_hosts: Provider::ALL.into_iter().filter_map(own).collect(),
            http_hosts: self.http_allow.as_ref().map(|_| requests.collect()),
            context_files: self.prompt.context_files.clone(),
            plants: self.opcua.allow.clone(),
            tool_servers: self.mcp.keys().cloned().collect(),
        }
    }
}

/// What flows may take from the environment into their context.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct ContextTable {
    /// The variables that flows may take into their context.
    #[shape(default)]
    env: BTreeSet<String>,
}

/// The secrets that flows may name, and the folder that holds their values.
#[derive(Debug, Default)]
pub(super) struct SecretsTable {
    folder: Option<String>,
    listed: SecretHosts,
}

/// A secret that flows may name.
#[derive(Debug, Shape)]
#[shape(not_null, name = "Secret")]
struct SecretTable {
    /// The hosts that may receive the secret.
    hosts: Vec<ListedHost>,
}

/// One key is a setting, and every other key names a secret.
impl Shape for SecretsTable {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if node.kind() != ValueKind::Object {
            reader.wrong_type(node, at, "an object");
            return None;
        }
        let mut table = SecretsTable::default();
        node.members(|key, member| {
            let (name, place) = (key.text, at.key(key.text));
            if name == FOLDER {
                table.folder = String::read(member, &place, reader);
            } else if member.kind() != ValueKind::Object {
                // Most likely it is the secret itself, so the fault does not repeat it.
                let message = format!(
                    "must be a table with `hosts = [\"HOST\"]`; the value of `{name}` belongs into the environment or \
                     the folder of secrets"
                );
                reader.fault(&place, key.span, FaultKind::rule("value", message));
            } else {
                // Without hosts, which is a fault, a listed secret goes nowhere.
                let hosts = SecretTable::read(member, &place, reader).map(|secret| secret.hosts);
                let hosts = ListedHost::texts(hosts.unwrap_or_default());
                table.listed.insert(name.to_owned(), hosts.into_iter().collect());
            }
        });
        Some(table)
    }

    fn write(&self) -> Value {
        let folder = self.folder.iter().map(|folder| (FOLDER.to_owned(), folder.as_str().into()));
        let listed = self.listed.iter().map(|(name, hosts)| {
            let hosts: Vec<String> = hosts.iter().cloned().collect();
            (name.clone(), Value::from_iter([("hosts", hosts)]))
        });
        folder.chain(listed).collect()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let description = "The folder with a file for each secret, relative to the project; the environment is asked first.";
        let folder = [("description", description), ("type", "string")];
        Value::from_iter([
            ("type", Value::from("object")),
            ("properties", Value::from_iter([(FOLDER, Value::from_iter(folder))])),
            ("additionalProperties", SecretTable::schema(definitions)),
        ])
    }
}

impl SecretsTable {
    pub(super) fn settings(self, context: ContextTable) -> SecretSettings {
        SecretSettings { folder: self.folder, listed: self.listed, variables: context.env }
    }
}
