//! What is said about an operation.

use crate::argument::{Argument, ArgumentKind};

/// An operation or step kind: what it takes, does and gives.
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    /// The name in flows and documents.
    pub name: &'static str,
    /// How an author writes it.
    pub form: Form,
    /// One line that begins with a verb and has no full stop.
    pub summary: &'static str,
    /// What else there is to know, as Markdown.
    pub details: &'static str,
    pub arguments: &'static [Argument],
    /// Groups of arguments of which one must be given.
    pub one_of: &'static [&'static [&'static str]],
    /// Whether it takes arguments beyond those that are listed.
    pub open: bool,
    pub result: ResultShape,
    pub effects: Effects,
    /// Whether it may reach another machine or process.
    pub network: bool,
    pub repeat: Repeat,
    pub receiver: Receiver,
    pub provenance: ResultProvenance,
    /// The build that has it; none when every build has.
    pub feature: Option<Feature>,
    /// The node that an editor starts with; none when it cannot be added as a node.
    pub blank: Option<Blank>,
}

/// How an author writes a step kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `op` of a declarative transform, and `type` of a step in a workflow.
    Operation,
    /// The `prompt` of a node.
    Prompt,
    /// A transform with `mode: code`.
    Code,
    /// A step of a workflow only.
    Workflow,
    /// `_input` and `_output`, which every flow has.
    Boundary,
}

/// What an operation gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultShape {
    /// A value that is known only when it is there.
    Any,
    List,
    Object,
    /// The named argument with its placeholders filled in. Its keys feed outputs of the same names.
    Filled(&'static str),
    /// All values at the node's inputs, named in its arguments or not.
    Inputs,
    /// Values by output name.
    Ports(&'static [&'static str]),
    /// One value for a sole output, or values by output name.
    ValueOrPorts(&'static [&'static str]),
}

/// What running an operation changes outside the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effects {
    /// It works inside the run.
    None,
    /// It asks somebody outside and changes nothing there.
    Reads,
    /// It changes something outside. Its result is not cached, and a run that is stopped lets it finish.
    Writes,
    /// Those of the nodes and tools that it runs.
    OfCalled,
}

/// Whether the same work may be done again after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Doing it again is the same as doing it once.
    Safe,
    /// Safe when the author gives the other side a way to see that two attempts are one.
    SafeWith { key: DuplicateKey, advice: &'static str },
    /// The other side cannot see that two attempts are one.
    Unsafe { advice: &'static str },
    /// It bounds the time of its parts and repeats them itself, each by its own rules.
    ByPart,
}

/// What lets the other side recognise two attempts as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateKey {
    /// A request header, in lower case.
    Header(&'static str),
    Argument(&'static str),
}

/// Who is given the arguments of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// Nobody outside the run.
    Nobody,
    /// The host of the address in this argument.
    Host { address: &'static str },
    /// A tool of an MCP server, by the arguments that name both.
    Tool { server: &'static str, tool: &'static str },
    /// The feature store; the entry is named by the first of these arguments that is given.
    FeatureStore { entries: &'static [StoreEntry] },
    /// The model of a prompt.
    Model,
}

/// An argument that names an entry of the feature store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreEntry {
    pub argument: &'static str,
    /// What the entry is called in system documents.
    pub kind: &'static str,
}

/// Where a result comes from, for the blocks of a prompt that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultProvenance {
    /// The least trusted of what it was given.
    Inputs,
    /// The least trusted of what it was given and of what the node that it runs gives.
    Called,
    /// Documents from outside.
    Retrieval,
    /// The answer of a tool or a model.
    Tool,
}

/// A Cargo feature that a build needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    pub name: &'static str,
    /// What the feature is called, after "this build has no".
    pub title: &'static str,
    /// What to do about a build without it.
    pub advice: &'static str,
}

/// The place of an operation among others in an editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Model,
    Code,
    Features,
    Http,
    Lists,
    Response,
    People,
    Tools,
}

/// A node as it is when it is new.
#[derive(Debug, Clone, Copy)]
pub struct Blank {
    pub group: Group,
    pub title: &'static str,
    /// What the node's id begins as.
    pub id: &'static str,
    /// The node's fields without `type`, as YAML.
    pub node: &'static str,
}

impl Group {
    /// The word in the studio's protocol.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Group::Model => "model",
            Group::Code => "code",
            Group::Features => "features",
            Group::Http => "http",
            Group::Lists => "transform",
            Group::Response => "io",
            Group::People => "human",
            Group::Tools => "tools",
        }
    }
}

impl Effects {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Effects::None => "none",
            Effects::Reads => "reads",
            Effects::Writes => "writes",
            Effects::OfCalled => "of what it runs",
        }
    }
}

impl Descriptor {
    /// What most operations have in common. It is no operation.
    pub(crate) const INSIDE: Descriptor = Descriptor {
        name: "",
        form: Form::Operation,
        summary: "",
        details: "",
        arguments: &[],
        one_of: &[],
        open: false,
        result: ResultShape::Any,
        effects: Effects::None,
        network: false,
        repeat: Repeat::Safe,
        receiver: Receiver::Nobody,
        provenance: ResultProvenance::Inputs,
        feature: None,
        blank: None,
    };

    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&'static Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// The arguments of a kind.
    pub fn arguments_of(&self, kind: ArgumentKind) -> impl Iterator<Item = &'static Argument> {
        self.arguments.iter().filter(move |argument| argument.kind == kind)
    }

    /// Whether it changes something outside the flow by itself, apart from what it runs.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.effects == Effects::Writes
    }

    /// Whether an earlier result may replace running it, as far as it does not run others.
    #[must_use]
    pub fn is_cacheable(&self) -> bool {
        !self.writes()
    }

    /// Whether a step is bounded and repeated part by part, and not as a whole.
    #[must_use]
    pub fn repeats_by_part(&self) -> bool {
        self.repeat == Repeat::ByPart
    }

    /// Whether its result is made of all the values at the node's inputs, named in its arguments or not.
    #[must_use]
    pub fn hands_inputs_on(&self) -> bool {
        self.result == ResultShape::Inputs
    }
}
