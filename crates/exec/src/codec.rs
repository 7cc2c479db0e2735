//! JSON to [`Document`] and back.

use stave_canon::{Number, Object, Pointer, Value};
use stave_diag::codes::exec as codes;

use crate::model::{Constants, Document, Edge, FlowHeader, Graph, Metadata, Node, On, Retry};
use crate::{Fault, MAX_INTEGER, VERSION, verify};

/// Which versions a reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// Only the version that the published schema names, with its closed objects closed.
    Exact,
    /// Any `1.y.z`: what a later minor release adds is kept and ignored.
    Additive,
}

/// Reads a document, or every violation in it.
pub fn read(value: &Value, acceptance: Acceptance) -> Result<Document, Vec<Fault>> {
    let mut reader = Reader { faults: Vec::new(), closed: true };
    let document = reader.document(value, acceptance);
    let mut faults = reader.faults;
    verify::verify(value, &mut faults);
    match document {
        Some(document) if faults.is_empty() => Ok(document),
        _ => Err(faults),
    }
}

/// The file form: two spaces, keys in the specification's order, ASCII, no final newline.
#[must_use]
pub fn encode(document: &Document) -> String {
    stave_canon::pretty_insertion_ascii(&to_value(document))
}

/// The document as a JSON value, keys in the specification's order, extras last.
#[must_use]
pub fn to_value(document: &Document) -> Value {
    let mut flow = Object::new();
    flow.insert("name".into(), document.flow.name.as_str().into());
    flow.insert("timeout_ms".into(), document.flow.timeout_ms.into());
    let mut constants = Object::new();
    constants.insert("policyRef".into(), document.constants.policy_ref.as_str().into());
    constants.insert("policy".into(), Value::Object(document.constants.policy.clone()));
    let mut graph = Object::new();
    graph.insert("nodes".into(), Value::Array(document.graph.nodes.iter().map(node_value).collect()));
    graph.insert("edges".into(), Value::Array(document.graph.edges.iter().map(edge_value).collect()));
    let mut metadata = Object::new();
    metadata.insert("generated_at".into(), document.metadata.generated_at.as_str().into());
    metadata.insert("source_file".into(), document.metadata.source_file.as_str().into());
    metadata.extend(document.metadata.extra.clone());

    let mut object = Object::new();
    object.insert("version".into(), document.version.as_str().into());
    object.insert("flow".into(), flow.into());
    object.insert("constants".into(), constants.into());
    object.insert("inputs_schema".into(), document.inputs_schema.clone().into());
    object.insert("graph".into(), graph.into());
    object.insert("metadata".into(), metadata.into());
    object.extend(document.extra.clone());
    Value::Object(object)
}

pub(crate) fn node_value(node: &Node) -> Value {
    let mut object = Object::new();
    object.insert("id".into(), node.id.as_str().into());
    object.insert("type".into(), node.kind.as_str().into());
    object.insert("with".into(), node.with.clone().into());
    object.insert("timeout_ms".into(), node.timeout_ms.into());
    let retry: Object = [
        ("max".to_owned(), Value::from(node.retry.max)),
        ("backoff_ms".to_owned(), Value::from(node.retry.backoff_ms)),
    ]
    .into_iter()
    .collect();
    object.insert("retry".into(), retry.into());
    object.extend(node.extra.clone());
    Value::Object(object)
}

fn edge_value(edge: &Edge) -> Value {
    let mut object = Object::new();
    object.insert("from".into(), edge.from.as_str().into());
    object.insert("to".into(), edge.to.as_str().into());
    object.insert("on".into(), edge.on.word().into());
    object.extend(edge.extra.clone());
    Value::Object(object)
}

struct Reader {
    faults: Vec<Fault>,
    /// Whether the schema's closed objects refuse properties it does not name.
    closed: bool,
}

impl Reader {
    fn document(&mut self, value: &Value, acceptance: Acceptance) -> Option<Document> {
        let root = Pointer::root();
        let object = self.object(value, &root)?;
        let version = self.version(object, &root, acceptance);
        let flow = self.member_object(object, &root, "flow").map(|(flow, at)| {
            self.refuse_extra(flow, &at, &["name", "timeout_ms"]);
            (self.identifier(flow, &at, "name"), self.integer(flow, &at, "timeout_ms"))
        });
        let constants = self.member_object(object, &root, "constants").map(|(constants, at)| {
            self.refuse_extra(constants, &at, &["policyRef", "policy"]);
            let policy = self.member_object(constants, &at, "policy").map(|(policy, _)| policy.clone());
            (self.text(constants, &at, "policyRef"), policy)
        });
        let inputs_schema =
            self.member_object(object, &root, "inputs_schema").map(|(schema, _)| schema.clone());
        let graph = self.member_object(object, &root, "graph").map(|(graph, at)| {
            self.refuse_extra(graph, &at, &["nodes", "edges"]);
            let nodes = self.items(graph, &at, "nodes", Self::node);
            let edges = self.items(graph, &at, "edges", Self::edge);
            (nodes, edges)
        });
        let metadata = self.member_object(object, &root, "metadata").map(|(metadata, at)| {
            let generated_at = self.text(metadata, &at, "generated_at");
            let source_file = self.text(metadata, &at, "source_file");
            (generated_at, source_file, extra(metadata, &["generated_at", "source_file"]))
        });
        let (name, timeout_ms) = flow?;
        let (policy_ref, policy) = constants?;
        let (nodes, edges) = graph?;
        let (generated_at, source_file, metadata_extra) = metadata?;
        Some(Document {
            version: version?,
            flow: FlowHeader { name: name?, timeout_ms: timeout_ms? },
            constants: Constants { policy_ref: policy_ref?, policy: policy? },
            inputs_schema: inputs_schema?,
            graph: Graph { nodes: nodes?, edges: edges? },
            metadata: Metadata {
                generated_at: generated_at?,
                source_file: source_file?,
                extra: metadata_extra,
            },
            extra: extra(object, &["version", "flow", "constants", "inputs_schema", "graph", "metadata"]),
        })
    }

    fn version(&mut self, object: &Object, at: &Pointer, acceptance: Acceptance) -> Option<String> {
        let version = self.text(object, at, "version")?;
        let numbers: Option<Vec<u64>> = version.split('.').map(plain_number).collect();
        let fits = match (acceptance, numbers.as_deref()) {
            (Acceptance::Exact, _) => version == VERSION,
            (Acceptance::Additive, Some([1, _, _])) => true,
            (Acceptance::Additive, _) => false,
        };
        if !fits {
            let fault = Fault::new(
                codes::EXEC_UNSUPPORTED_VERSION,
                at.key("version"),
                format!("version {version:?} is not supported"),
            );
            self.faults.push(fault.help(format!("compile the source again; this runtime takes {VERSION:?}")));
            return None;
        }
        self.closed = version == VERSION;
        Some(version)
    }

    fn node(&mut self, value: &Value, at: &Pointer) -> Option<Node> {
        let object = self.object(value, at)?;
        let id = self.identifier(object, at, "id");
        let kind = self.text(object, at, "type");
        let with = self.member_object(object, at, "with").map(|(with, _)| with.clone());
        let timeout_ms = self.integer(object, at, "timeout_ms");
        let retry = self.member_object(object, at, "retry").map(|(retry, at)| {
            self.refuse_extra(retry, &at, &["max", "backoff_ms"]);
            (self.integer(retry, &at, "max"), self.integer(retry, &at, "backoff_ms"))
        });
        let (max, backoff_ms) = retry?;
        Some(Node {
            id: id?,
            kind: kind?,
            with: with?,
            timeout_ms: timeout_ms?,
            retry: Retry { max: max?, backoff_ms: backoff_ms? },
            extra: extra(object, &["id", "type", "with", "timeout_ms", "retry"]),
        })
    }

    fn edge(&mut self, value: &Value, at: &Pointer) -> Option<Edge> {
        let object = self.object(value, at)?;
        let from = self.identifier(object, at, "from");
        let to = self.identifier(object, at, "to");
        let on = self.text(object, at, "on").and_then(|word| match word.as_str() {
            "success" => Some(On::Success),
            "failure" => Some(On::Failure),
            _ => {
                let fault = Fault::new(
                    codes::EXEC_UNKNOWN_TRANSITION,
                    at.key("on"),
                    format!("{word:?} is not a transition reason"),
                );
                self.faults.push(fault.help("write \"success\" or \"failure\""));
                None
            }
        });
        Some(Edge { from: from?, to: to?, on: on?, extra: extra(object, &["from", "to", "on"]) })
    }

    fn object<'v>(&mut self, value: &'v Value, at: &Pointer) -> Option<&'v Object> {
        if let Value::Object(object) = value {
            return Some(object);
        }
        self.wrong_type(value, at, "an object");
        None
    }

    fn member<'v>(&mut self, object: &'v Object, at: &Pointer, key: &str) -> Option<&'v Value> {
        let member = object.get(key);
        if member.is_none() {
            self.faults.push(Fault::new(codes::EXEC_MISSING_FIELD, at, format!("`{key}` is missing")));
        }
        member
    }

    fn member_object<'v>(
        &mut self,
        object: &'v Object,
        at: &Pointer,
        key: &str,
    ) -> Option<(&'v Object, Pointer)> {
        let at_member = at.key(key);
        let member = self.member(object, at, key)?;
        Some((self.object(member, &at_member)?, at_member))
    }

    fn items<T>(
        &mut self,
        object: &Object,
        at: &Pointer,
        key: &str,
        read: impl Fn(&mut Self, &Value, &Pointer) -> Option<T>,
    ) -> Option<Vec<T>> {
        let at_member = at.key(key);
        let member = self.member(object, at, key)?;
        let Value::Array(items) = member else {
            self.wrong_type(member, &at_member, "an array");
            return None;
        };
        // Every item is read before any of them is given up on, so that all faults are reported.
        let items: Vec<Option<T>> =
            items.iter().enumerate().map(|(index, item)| read(self, item, &at_member.index(index))).collect();
        items.into_iter().collect()
    }

    fn text(&mut self, object: &Object, at: &Pointer, key: &str) -> Option<String> {
        let at_member = at.key(key);
        let member = self.member(object, at, key)?;
        let Value::String(text) = member else {
            self.wrong_type(member, &at_member, "a string");
            return None;
        };
        if text.is_empty() {
            self.faults.push(Fault::new(codes::EXEC_EMPTY_STRING, at_member, format!("`{key}` is empty")));
            return None;
        }
        Some(text.clone())
    }

    fn identifier(&mut self, object: &Object, at: &Pointer, key: &str) -> Option<String> {
        let text = self.text(object, at, key)?;
        if verify::is_identifier(&text) {
            return Some(text);
        }
        let fault =
            Fault::new(codes::EXEC_BAD_IDENTIFIER, at.key(key), format!("{text:?} is not an identifier"));
        self.faults.push(fault.help("use letters, digits, `_`, `.` and `-` only"));
        None
    }

    fn integer(&mut self, object: &Object, at: &Pointer, key: &str) -> Option<u32> {
        let at_member = at.key(key);
        let member = self.member(object, at, key)?;
        let whole = match member {
            Value::Number(Number::Int(value)) => Some(*value),
            // JSON has one kind of number, so `5.0` is the integer five.
            Value::Number(Number::Float(value)) if value.fract() == 0.0 => Some(*value as i64),
            Value::Number(Number::Big(_)) => Some(i64::MAX),
            _ => None,
        };
        match whole {
            Some(value) if (0..=MAX_INTEGER).contains(&value) => u32::try_from(value).ok(),
            Some(_) => {
                let message = format!("`{key}` is {member}, outside 0..={MAX_INTEGER}");
                self.faults.push(Fault::new(codes::EXEC_OUT_OF_RANGE, at_member, message));
                None
            }
            None => {
                self.wrong_type(member, &at_member, "an integer");
                None
            }
        }
    }

    fn refuse_extra(&mut self, object: &Object, at: &Pointer, known: &[&str]) {
        if !self.closed {
            return;
        }
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let message = format!("`{key}` is not a property of this object");
            let fault = Fault::new(codes::EXEC_UNKNOWN_PROPERTY, at.key(key), message);
            self.faults.push(fault.help(format!("it takes {}", known.join(", "))));
        }
    }

    fn wrong_type(&mut self, value: &Value, at: &Pointer, wanted: &str) {
        let message = format!("expected {wanted}, found {}", value.kind());
        self.faults.push(Fault::new(codes::EXEC_WRONG_TYPE, at, message));
    }
}

fn extra(object: &Object, known: &[&str]) -> Object {
    object
        .iter()
        .filter(|(key, _)| !known.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// A number of a semantic version: digits without a leading zero.
fn plain_number(text: &str) -> Option<u64> {
    let plain = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    if plain { text.parse().ok() } else { None }
}
