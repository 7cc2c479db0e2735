//! What is served: flows by tenant and name, and where their runs are kept.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use stave_exec::Document;
use stave_runtime::Engine;
use stave_runtime::journal::Runs;
use thiserror::Error;

use crate::access::Principal;
use crate::api::{MistakePlace, UnservedFile};
use crate::context::ContextFieldSource;
use crate::events::Hub;
use crate::kept_auth::KeptAuth;
use crate::observed::Watched;
use crate::problem::Problem;

/// How many digits of a document's fingerprint name its version.
const VERSION_DIGITS: usize = 12;

/// Fills the ports of runs of one project.
pub trait Engines: Send + Sync + fmt::Debug {
    /// An engine for runs of a document. One that writes a journal in this process lets it be watched. The error
    /// is for the operator.
    fn engine(&self, document: &Document, watched: Watched) -> Result<Arc<dyn Engine>, String>;
}

/// Where the runs of one project of a tenant are kept.
#[derive(Debug)]
pub struct TenantRuns {
    pub(crate) tenant: String,
    pub(crate) runs: Arc<dyn Runs>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) auth: KeptAuth,
    engines: Arc<dyn Engines>,
}

/// A flow that is served.
#[derive(Debug)]
pub struct ServedFlow {
    pub(crate) name: String,
    /// Another name that it is asked for by: that of its service.
    pub(crate) alias: Option<String>,
    /// What it is for, in its author's words.
    pub(crate) about: Option<String>,
    pub(crate) version: String,
    pub(crate) document: Arc<Document>,
    pub(crate) archive: Arc<TenantRuns>,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) context: Vec<(String, ContextFieldSource)>,
    /// Why it cannot run here, when that is known.
    pub(crate) unready: Option<String>,
    /// Why no run of it begins: a code, and the reason in words.
    pub(crate) refused: Option<(&'static str, String)>,
}

/// A file that is not served as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unserved {
    /// The tenant of its project, when that could be read.
    pub tenant: Option<String>,
    pub file: String,
    /// The flow that is served in its place: what the file held before.
    pub served: Option<String>,
    pub reason: String,
    /// The code of the reason, when it has one.
    pub code: Option<&'static str>,
    /// Where the mistake is, which may be in another file.
    pub place: Option<FaultPlace>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlace {
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// The flows of all tenants.
#[derive(Debug, Default)]
pub struct Catalog {
    models: BTreeMap<(String, String), Arc<ServedFlow>>,
    archives: Vec<Arc<TenantRuns>>,
    unserved: Vec<Unserved>,
}

/// Two flows of one tenant would be asked for by the same name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("two flows are called `{0}`")]
pub struct SharedName(pub String);

impl Unserved {
    pub(crate) fn shown(&self) -> UnservedFile {
        UnservedFile {
            file: self.file.clone(),
            served: self.served.clone().into(),
            reason: self.reason.clone(),
            code: self.code.map(str::to_owned).into(),
            at: self.place.as_ref().map(FaultPlace::shown).into(),
        }
    }
}

impl FaultPlace {
    fn shown(&self) -> MistakePlace {
        MistakePlace { file: self.file.clone(), line: u64::from(self.line) }
    }
}

impl TenantRuns {
    #[must_use]
    pub fn new(tenant: impl Into<String>, runs: Arc<dyn Runs>, engines: Arc<dyn Engines>) -> Arc<TenantRuns> {
        Arc::new(TenantRuns {
            tenant: tenant.into(),
            runs,
            hub: Arc::default(),
            auth: KeptAuth::default(),
            engines,
        })
    }

    /// An engine whose runs can be watched.
    pub(crate) fn engine(&self, document: &Document) -> Result<Arc<dyn Engine>, String> {
        self.engines.engine(document, Watched::new(Arc::clone(&self.hub)))
    }
}

impl ServedFlow {
    /// A flow under the name that clients ask for it by.
    pub fn new(
        name: impl Into<String>,
        document: Document,
        archive: &Arc<TenantRuns>,
        context: Vec<(String, ContextFieldSource)>,
    ) -> Result<ServedFlow, String> {
        let mut version = document.fingerprint();
        version.truncate(VERSION_DIGITS);
        Ok(ServedFlow {
            name: name.into(),
            alias: None,
            about: None,
            version,
            engine: archive.engine(&document)?,
            document: Arc::new(document),
            archive: Arc::clone(archive),
            context,
            unready: None,
            refused: None,
        })
    }

    /// With another name to be asked for by.
    #[must_use]
    pub fn alias(self, alias: impl Into<String>) -> ServedFlow {
        ServedFlow { alias: Some(alias.into()), ..self }
    }

    /// With why it cannot run here.
    #[must_use]
    pub fn unready(self, unready: Option<String>) -> ServedFlow {
        ServedFlow { unready, ..self }
    }

    /// With a reason why no run of it begins, when there is one: a code, and the reason in words.
    #[must_use]
    pub fn refused(self, refused: Option<(&'static str, String)>) -> ServedFlow {
        ServedFlow { refused, ..self }
    }

    /// With what its author says that it is for.
    #[must_use]
    pub fn about(self, about: Option<String>) -> ServedFlow {
        ServedFlow { about, ..self }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fields that a request may have.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        let properties = self.document.inputs_schema.get("properties").and_then(|value| value.as_object());
        properties.into_iter().flat_map(|properties| properties.keys().map(String::as_str))
    }

    /// Whether it serves the document with this fingerprint.
    #[must_use]
    pub fn is_of(&self, fingerprint: &str) -> bool {
        fingerprint.starts_with(&self.version)
    }
}

impl Catalog {
    #[must_use]
    pub fn new(archives: Vec<Arc<TenantRuns>>) -> Catalog {
        Catalog { models: BTreeMap::new(), archives, unserved: Vec::new() }
    }

    /// With the files that are not served as they are.
    #[must_use]
    pub fn with_unserved(self, unserved: Vec<Unserved>) -> Catalog {
        Catalog { unserved, ..self }
    }

    /// Adds a flow. One whose name another has is not served, and the other stays.
    pub fn add(&mut self, model: Arc<ServedFlow>) -> Result<(), SharedName> {
        match self.models.entry((model.archive.tenant.clone(), model.name.clone())) {
            Entry::Vacant(place) => {
                place.insert(model);
                Ok(())
            }
            Entry::Occupied(_) => Err(SharedName(model.name.clone())),
        }
    }

    /// The files that are not served as they are, of those that a principal sees. A key for some flows sees those that
    /// replace one of them.
    pub(crate) fn unserved<'c>(&'c self, principal: &'c Principal) -> impl Iterator<Item = &'c Unserved> {
        self.unserved.iter().filter(|one| {
            let tenant = one.tenant.as_deref();
            tenant.map_or(principal.tenant().is_none(), |tenant| match &one.served {
                Some(flow) => principal.sees(tenant, flow),
                None => principal.may_see(tenant) && principal.flows().is_none(),
            })
        })
    }

    /// The model of this name of this tenant.
    #[must_use]
    pub fn get(&self, tenant: &str, name: &str) -> Option<&Arc<ServedFlow>> {
        self.models.get(&(tenant.to_owned(), name.to_owned()))
    }

    /// Whether clients can ask for this flow by its name and get this very document.
    pub(crate) fn serves(&self, flow: &ServedFlow) -> bool {
        let served = self.get(&flow.archive.tenant, &flow.name);
        served.is_some_and(|served| served.document.fingerprint() == flow.document.fingerprint())
    }

    /// The flows that a principal sees, in the order of their names.
    pub(crate) fn seen<'c>(&'c self, principal: &'c Principal) -> impl Iterator<Item = &'c Arc<ServedFlow>> {
        self.models.values().filter(|model| principal.sees(&model.archive.tenant, &model.name))
    }

    /// The flow that a principal means by a name. That another tenant has one of this name does not show.
    pub(crate) fn find(&self, principal: &Principal, name: &str) -> Result<Arc<ServedFlow>, Problem> {
        let sole = |is_meant: &dyn Fn(&ServedFlow) -> bool| {
            let mut found = self.seen(principal).filter(|model| is_meant(model));
            found.next().filter(|_| found.next().is_none()).map(Arc::clone)
        };
        sole(&|model| model.name == name)
            .or_else(|| sole(&|model| model.alias.as_deref() == Some(name)))
            .ok_or_else(|| Problem::not_found("flow", name))
    }

    pub(crate) fn archives<'c>(
        &'c self,
        principal: &'c Principal,
    ) -> impl Iterator<Item = &'c Arc<TenantRuns>> {
        self.archives.iter().filter(|archive| principal.may_see(&archive.tenant))
    }
}
