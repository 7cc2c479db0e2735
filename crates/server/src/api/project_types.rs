//! Bodies about projects: the session, files, and the nodes that can be added.

use stave_canon::Object;
use stave_flow::model::PortType;
use stave_operations::Group;
use stave_shape::{Nullable, Shape};

use super::graph_types::Cast;

/// Settings and permissions that the page loads first.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Session {
    pub(crate) version: String,
    pub(crate) tenant: Nullable<String>,
    pub(crate) read_only: bool,
    /// Roles of the key.
    pub(crate) roles: Vec<String>,
    /// Flows that the key is limited to; null for all flows.
    pub(crate) flows: Nullable<Vec<String>>,
    /// Whether the server requires keys.
    pub(crate) keys: bool,
    pub(crate) chat: ChatSettings,
    pub(crate) projects: Vec<ProjectFacts>,
    pub(crate) types: TypeTable,
    pub(crate) limits: StudioLimits,
    /// Whether a gateway has records.
    pub(crate) gateway: bool,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ChatSettings {
    pub(crate) model: Nullable<String>,
    /// Forms of sentences that work without a model.
    pub(crate) forms: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ProjectFacts {
    pub(crate) id: String,
    pub(crate) tenant: String,
    pub(crate) repo: String,
    pub(crate) policy: String,
}

/// Port types, and every pair that can be connected.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct TypeTable {
    pub(crate) types: Vec<PortType>,
    pub(crate) connections: Vec<TypeConnection>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct TypeConnection {
    pub(crate) from: PortType,
    pub(crate) to: PortType,
    pub(crate) cast: Cast,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct StudioLimits {
    pub(crate) text_bytes: u64,
    pub(crate) body_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FlowFiles {
    pub(crate) files: Vec<FlowFile>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FlowFile {
    pub(crate) path: String,
    pub(crate) project: String,
    pub(crate) name: Nullable<String>,
    pub(crate) description: Nullable<String>,
    pub(crate) bytes: u64,
    pub(crate) hash: String,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    /// Name of the served flow.
    pub(crate) served: Nullable<String>,
    /// Why the file's current version is not served.
    pub(crate) not_served: Nullable<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FileText {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) hash: String,
}

/// New content of a file.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) text: String,
    /// Hash of the content that was read; null to create a file.
    pub(crate) hash: Nullable<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct WrittenFile {
    pub(crate) path: String,
    pub(crate) hash: String,
    pub(crate) served: Nullable<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Palette {
    pub(crate) items: Vec<PaletteItem>,
}

/// A node that can be added.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct PaletteItem {
    pub(crate) id: String,
    pub(crate) group: PaletteGroup,
    pub(crate) title: String,
    pub(crate) summary: String,
    pub(crate) op: Nullable<String>,
    pub(crate) effects: bool,
    /// The JSON Schema of the operation's arguments.
    pub(crate) arguments: Object,
    pub(crate) id_hint: String,
    /// Initial content of the node.
    pub(crate) node: Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum PaletteGroup {
    Model,
    Code,
    Features,
    Http,
    Transform,
    Io,
    Human,
    Tools,
}

impl PaletteGroup {
    pub(crate) fn of(group: Group) -> PaletteGroup {
        match group {
            Group::Model => PaletteGroup::Model,
            Group::Code => PaletteGroup::Code,
            Group::Features => PaletteGroup::Features,
            Group::Http => PaletteGroup::Http,
            Group::Lists => PaletteGroup::Transform,
            Group::Response => PaletteGroup::Io,
            Group::People => PaletteGroup::Human,
            Group::Tools => PaletteGroup::Tools,
        }
    }
}
