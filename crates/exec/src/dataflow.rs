//! The typed ports and data edges that a lowered flow adds to an exec document.
//!
//! Specification 004 knows steps and transitions; it lets nodes and edges carry extra properties. A flow
//! uses that room to keep its ports, state, conditions and origins, so that a runtime that has only the
//! exec document can run it. `lower` writes these properties and `runtime` reads them; this module is
//! the one place that knows how they are spelt.
//!
//! Invariant: `NodeData::read(&data.write()) == Ok(data)`, and the same for edges.

use stave_canon::{Object, Value};
pub use stave_vocabulary::PortType;

/// What a flow node keeps beside the step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeData {
    pub inputs: Vec<StepPort>,
    pub outputs: Vec<StepPort>,
    pub error: Option<StepPort>,
    pub state: Option<StepState>,
    pub requires_context: Vec<String>,
    pub concurrency: Option<u32>,
    pub cache: Option<StepCache>,
    /// Whether the step changes something outside the run, and so must not be repeated lightly.
    pub effects: bool,
    /// Whether the step runs only when a model calls it as a tool.
    pub tool: bool,
    pub origin: Option<Origin>,
    /// Where the texts inside `with` begin in the source, by the name of their key.
    pub text_origins: Vec<(String, Origin)>,
}

/// A place where a value enters or leaves a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPort {
    pub name: String,
    pub port_type: PortType,
    pub schema: Option<Value>,
    pub optional: bool,
    /// Where the values of an input port come from, in the words of the block line.
    pub provenance: Option<String>,
}

/// What a step remembers between runs or within one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    /// Whether the record outlives the run, within its session.
    pub session: bool,
    /// A template with `{path}` placeholders.
    pub key: String,
    pub ttl_seconds: Option<u32>,
    pub backend: String,
}

/// How long and by what a step's result is kept for later runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepCache {
    pub ttl_seconds: u32,
    /// A template with `{path}` placeholders, in place of the inputs and the context.
    pub key: Option<String>,
    /// The context fields that the result may depend on; `None` when all may matter.
    pub context: Option<Vec<String>>,
}

/// A line and column of `metadata.source_file`, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub line: u32,
    pub column: u32,
}

/// What a data edge keeps beside the transition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EdgeData {
    /// Absent on an edge that only orders.
    pub from_port: Option<String>,
    /// Absent on an edge into `_output` that carries the whole response.
    pub to_port: Option<String>,
    /// The case of a `switch` that takes the edge.
    pub case: Option<String>,
    pub condition: Option<String>,
    /// Whether the edge is active when no edge with a condition from the same port is.
    pub otherwise: bool,
    pub transform: Option<String>,
    pub cast: Option<Cast>,
    pub origin: Option<Origin>,
}

/// A conversion that the type table asks for along an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cast {
    /// A number or a boolean as text.
    Text,
    /// A table of exactly one row as that row.
    SingleRow,
}

/// An extra property that does not have the shape a flow gives it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{property}` is not {wanted}")]
pub struct BadProperty {
    pub property: String,
    pub wanted: &'static str,
}

impl Cast {
    fn word(self) -> &'static str {
        match self {
            Cast::Text => "text",
            Cast::SingleRow => "single_row",
        }
    }
}

impl NodeData {
    /// The extra properties of a node; what is empty or absent is left out.
    #[must_use]
    pub fn write(&self) -> Object {
        let mut extra = Object::new();
        extra.insert("inputs".into(), self.inputs.iter().map(StepPort::write).collect::<Vec<_>>().into());
        extra.insert("outputs".into(), self.outputs.iter().map(StepPort::write).collect::<Vec<_>>().into());
        insert(&mut extra, "error", self.error.as_ref().map(StepPort::write));
        insert(&mut extra, "state", self.state.as_ref().map(StepState::write));
        let requires = Some(&self.requires_context).filter(|fields| !fields.is_empty());
        insert(&mut extra, "requires_context", requires.map(|fields| fields.clone().into()));
        insert(&mut extra, "concurrency", self.concurrency.map(Value::from));
        insert(&mut extra, "cache", self.cache.as_ref().map(StepCache::write));
        insert(&mut extra, "effects", self.effects.then_some(Value::Bool(true)));
        insert(&mut extra, "tool", self.tool.then_some(Value::Bool(true)));
        insert(&mut extra, "origin", self.origin.map(Origin::write));
        if !self.text_origins.is_empty() {
            let origins = self.text_origins.iter().map(|(key, origin)| (key.clone(), origin.write()));
            extra.insert("text_origins".into(), origins.collect());
        }
        extra
    }

    /// The flow's properties of a node, or `None` for a node that no flow was lowered to.
    pub fn read(extra: &Object) -> Result<Option<NodeData>, BadProperty> {
        if !extra.contains_key("inputs") && !extra.contains_key("outputs") {
            return Ok(None);
        }
        let mut text_origins = Vec::new();
        if let Some(origins) = extra.get("text_origins") {
            let origins = origins.as_object().ok_or_else(|| bad("text_origins", "an object"))?;
            for (key, origin) in origins {
                text_origins.push((key.clone(), Origin::read(origin)?));
            }
        }
        Ok(Some(NodeData {
            inputs: ports(extra, "inputs")?,
            outputs: ports(extra, "outputs")?,
            error: extra.get("error").map(StepPort::read).transpose()?,
            state: extra.get("state").map(StepState::read).transpose()?,
            requires_context: texts(extra, "requires_context")?,
            concurrency: integer(extra, "concurrency")?,
            cache: extra.get("cache").map(StepCache::read).transpose()?,
            effects: flag(extra, "effects")?,
            tool: flag(extra, "tool")?,
            origin: extra.get("origin").map(Origin::read).transpose()?,
            text_origins,
        }))
    }
}

impl StepPort {
    fn write(&self) -> Value {
        let mut port = Object::new();
        port.insert("name".into(), self.name.as_str().into());
        port.insert("type".into(), self.port_type.word().into());
        insert(&mut port, "schema", self.schema.clone());
        insert(&mut port, "optional", self.optional.then_some(Value::Bool(true)));
        insert(&mut port, "provenance", self.provenance.clone().map(Value::String));
        Value::Object(port)
    }

    fn read(value: &Value) -> Result<StepPort, BadProperty> {
        let port = value.as_object().ok_or_else(|| bad("port", "an object"))?;
        let word = text(port, "type")?.ok_or_else(|| bad("type", "a port type"))?;
        Ok(StepPort {
            name: text(port, "name")?.ok_or_else(|| bad("name", "a string"))?,
            port_type: PortType::from_word(&word).ok_or_else(|| bad("type", "a port type"))?,
            schema: port.get("schema").cloned(),
            optional: flag(port, "optional")?,
            provenance: text(port, "provenance")?,
        })
    }
}

impl StepState {
    fn write(&self) -> Value {
        let mut state = Object::new();
        state.insert("scope".into(), if self.session { "session" } else { "request" }.into());
        state.insert("key".into(), self.key.as_str().into());
        insert(&mut state, "ttl_seconds", self.ttl_seconds.map(Value::from));
        state.insert("backend".into(), self.backend.as_str().into());
        Value::Object(state)
    }

    fn read(value: &Value) -> Result<StepState, BadProperty> {
        let state = value.as_object().ok_or_else(|| bad("state", "an object"))?;
        let session = match text(state, "scope")?.as_deref() {
            Some("session") => true,
            Some("request") => false,
            _ => return Err(bad("scope", "`request` or `session`")),
        };
        Ok(StepState {
            session,
            key: text(state, "key")?.ok_or_else(|| bad("key", "a string"))?,
            ttl_seconds: integer(state, "ttl_seconds")?,
            backend: text(state, "backend")?.ok_or_else(|| bad("backend", "a string"))?,
        })
    }
}

impl StepCache {
    fn write(&self) -> Value {
        let mut cache = Object::new();
        cache.insert("ttl_seconds".into(), self.ttl_seconds.into());
        insert(&mut cache, "key", self.key.clone().map(Value::String));
        insert(&mut cache, "context", self.context.clone().map(Value::from));
        Value::Object(cache)
    }

    fn read(value: &Value) -> Result<StepCache, BadProperty> {
        let cache = value.as_object().ok_or_else(|| bad("cache", "an object"))?;
        let context = cache.get("context").map(|_| texts(cache, "context")).transpose()?;
        Ok(StepCache {
            ttl_seconds: integer(cache, "ttl_seconds")?.ok_or_else(|| bad("ttl_seconds", "an integer"))?,
            key: text(cache, "key")?,
            context,
        })
    }
}

impl Origin {
    pub(crate) fn write(self) -> Value {
        [("line", self.line), ("column", self.column)].into_iter().collect()
    }

    /// The origin of a node, whatever it was compiled from.
    #[must_use]
    pub fn of(extra: &Object) -> Option<Origin> {
        Origin::read(extra.get("origin")?).ok()
    }

    fn read(value: &Value) -> Result<Origin, BadProperty> {
        let origin = value.as_object().ok_or_else(|| bad("origin", "an object"))?;
        let part = |key| integer(origin, key)?.ok_or_else(|| bad(key, "an integer"));
        Ok(Origin { line: part("line")?, column: part("column")? })
    }
}

impl EdgeData {
    /// The extra properties of an edge; what is absent is left out.
    #[must_use]
    pub fn write(&self) -> Object {
        let mut extra = Object::new();
        insert(&mut extra, "from_port", self.from_port.clone().map(Value::String));
        insert(&mut extra, "to_port", self.to_port.clone().map(Value::String));
        insert(&mut extra, "case", self.case.clone().map(Value::String));
        insert(&mut extra, "condition", self.condition.clone().map(Value::String));
        insert(&mut extra, "else", self.otherwise.then_some(Value::Bool(true)));
        insert(&mut extra, "transform", self.transform.clone().map(Value::String));
        insert(&mut extra, "cast", self.cast.map(|cast| cast.word().into()));
        insert(&mut extra, "origin", self.origin.map(Origin::write));
        extra
    }

    pub fn read(extra: &Object) -> Result<EdgeData, BadProperty> {
        Ok(EdgeData {
            from_port: text(extra, "from_port")?,
            to_port: text(extra, "to_port")?,
            case: text(extra, "case")?,
            condition: text(extra, "condition")?,
            otherwise: flag(extra, "else")?,
            transform: text(extra, "transform")?,
            cast: match text(extra, "cast")?.as_deref() {
                None => None,
                Some("text") => Some(Cast::Text),
                Some("single_row") => Some(Cast::SingleRow),
                Some(_) => return Err(bad("cast", "`text` or `single_row`")),
            },
            origin: extra.get("origin").map(Origin::read).transpose()?,
        })
    }
}

fn bad(property: &str, wanted: &'static str) -> BadProperty {
    BadProperty { property: property.to_owned(), wanted }
}

fn insert(object: &mut Object, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}

fn text(object: &Object, key: &str) -> Result<Option<String>, BadProperty> {
    match object.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(bad(key, "a string")),
    }
}

fn flag(object: &Object, key: &str) -> Result<bool, BadProperty> {
    match object.get(key) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(bad(key, "a boolean")),
    }
}

fn integer(object: &Object, key: &str) -> Result<Option<u32>, BadProperty> {
    match object.get(key) {
        None => Ok(None),
        Some(value) => {
            let integer = value.as_i64().and_then(|integer| u32::try_from(integer).ok());
            integer.map(Some).ok_or_else(|| bad(key, "an integer"))
        }
    }
}

fn texts(object: &Object, key: &str) -> Result<Vec<String>, BadProperty> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| bad(key, "a list of strings"))?;
    let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().ok_or_else(|| bad(key, "a list of strings"))
}

fn ports(object: &Object, key: &str) -> Result<Vec<StepPort>, BadProperty> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    value.as_array().ok_or_else(|| bad(key, "a list of ports"))?.iter().map(StepPort::read).collect()
}
