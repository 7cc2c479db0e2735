//! `stave.toml` as it is written: every table and key with its type, its default and one sentence. The reader, the
//! schema that `stave schema project` prints and `docs/settings.md` come from these types.

use std::collections::BTreeMap;

use stave_canon::Value;
use stave_llm::prices::PriceRow;
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

use super::LimitSettings;
use super::accepts::{AcceptsTable, LabelsTable};
use super::engine::EngineTable;
use super::gate::GateTable;
use super::gateway_table::GatewayTable;
use super::governance::GovernanceTable;
use super::journal::{BudgetTable, JournalSettings};
use super::listed_host::ListedHost;
use super::mcp::McpTable;
use super::opcua::OpcuaTable;
use super::secrets::{ContextTable, SecretsTable};
use super::stores::{FeatureTable, HopsworksTable, StateTable};
use super::system::{BundleTable, Checks, DeployTable, SigningTable};
use super::{PromptSettings, TelemetrySettings};

/// What a project sets. Every table and key may be left out.
#[derive(Debug, Default, Shape)]
#[shape(not_null, name = "Project")]
pub(super) struct ProjectFile {
    #[shape(default)]
    pub(super) project: ProjectTable,
    #[shape(default)]
    pub(super) http: HttpTable,
    #[shape(default)]
    pub(super) models: ModelsTable,
    #[shape(default)]
    pub(super) state: StateTable,
    /// How the rows of a feature group are keyed and timed, by the group's name.
    #[shape(default)]
    pub(super) features: BTreeMap<String, FeatureTable>,
    #[shape(default)]
    pub(super) hopsworks: HopsworksTable,
    /// The tool servers by name: each has either a `command` or a `url`.
    #[shape(default)]
    pub(super) mcp: BTreeMap<String, McpTable>,
    #[shape(default)]
    pub(super) recordings: RecordingsTable,
    #[shape(default)]
    pub(super) runtime: RuntimeTable,
    #[shape(default)]
    pub(super) limits: LimitSettings,
    #[shape(default)]
    pub(super) budget: BudgetTable,
    #[shape(default)]
    pub(super) journal: JournalSettings,
    #[shape(default)]
    pub(super) engine: EngineTable,
    /// Prices of models in US dollars per million tokens, over those that Stave knows; see the page about models.
    #[shape(default)]
    pub(super) prices: BTreeMap<String, PriceRow>,
    #[shape(default)]
    pub(super) accepts: AcceptsTable,
    #[shape(default)]
    pub(super) labels: LabelsTable,
    #[shape(default)]
    pub(super) gate: GateTable,
    #[shape(default)]
    pub(super) checks: Checks,
    #[shape(default)]
    pub(super) signing: SigningTable,
    #[shape(default)]
    pub(super) bundle: BundleTable,
    #[shape(default)]
    pub(super) deploy: DeployTable,
    #[shape(default)]
    pub(super) governance: GovernanceTable,
    #[shape(default)]
    pub(super) prompt: PromptSettings,
    #[shape(default)]
    pub(super) gateway: GatewayTable,
    #[shape(default)]
    pub(super) telemetry: TelemetrySettings,
    #[shape(default)]
    pub(super) opcua: OpcuaTable,
    #[shape(default)]
    pub(super) context: ContextTable,
    #[shape(default)]
    pub(super) secrets: SecretsTable,
}

/// Whose project it is.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct ProjectTable {
    /// The tenant that system documents and bundles name; `local` when absent.
    pub(super) tenant: Option<String>,
    /// The repository that they name; the folder's name when absent.
    pub(super) repo: Option<String>,
    /// The name of the policy set that is baked into compiled documents.
    #[shape(unset = "default".to_owned())]
    pub(super) policy: Option<String>,
}

/// The requests that flows make.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct HttpTable {
    /// The only hosts that flows may call; all public hosts when absent.
    pub(super) allow: Option<Vec<ListedHost>>,
}

/// The models that flows ask.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct ModelsTable {
    pub(super) default: Option<DefaultModelTable>,
    /// The cheap model that writes the digests of many references. Without it they are made of the references' own lines.
    pub(super) digest: Option<DefaultModelTable>,
    /// The hosts that models may be asked at besides their providers' own.
    #[shape(default)]
    pub(super) hosts: Vec<ListedHost>,
}

/// A model of the project: that of prompts that name none, or the one that writes digests.
#[derive(Debug, Shape)]
#[shape(not_null)]
pub(super) struct DefaultModelTable {
    /// The provider, such as `openai`.
    pub(super) provider: String,
    /// The model's name at the provider.
    pub(super) name: String,
    /// The address of the interface; the provider's own when absent.
    pub(super) endpoint: Option<String>,
}

/// Recorded answers of models.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct RecordingsTable {
    /// The recording that answers model calls, relative to the project.
    pub(super) replay: Option<String>,
}

/// What runs are held to.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct RuntimeTable {
    /// The runtime bundle or system document that every run is held to, relative to the project. A flow with an effect that
    /// it does not allow is refused.
    pub(super) bundle: Option<String>,
    /// Kinds of steps that another runtime has. Workflows with steps of these kinds check and compile; they do not run here.
    #[shape(default)]
    pub(super) step_kinds: Vec<String>,
}

/// `"${secrets.NAME}"`: the name of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecretReference(pub(super) String);

impl Shape for SecretReference {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, at, reader)?;
        let name = secret_name(&text).map(str::to_owned);
        if name.is_none() {
            // The value may be the secret itself, so the fault does not repeat it.
            reader.fault(at, node.span(), FaultKind::rule("value", "must be \"${secrets.NAME}\""));
        }
        name.map(SecretReference)
    }

    fn write(&self) -> Value {
        format!("${{secrets.{}}}", self.0).into()
    }

    fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "string"), ("pattern", "^\\$\\{secrets\\..*\\}$")])
    }
}

/// The name in `${secrets.NAME}`.
pub(super) fn secret_name(text: &str) -> Option<&str> {
    text.strip_prefix("${secrets.").and_then(|rest| rest.strip_suffix('}'))
}
