//! Plans to documents: every step of a plan becomes a workflow node, the intent and what is known become
//! nodes before them.
//!
//! Invariant: a plan, its intent and every row that becomes provenance of a step belong to one tenant;
//! otherwise there is no document.

mod intent;
mod knowledge;
mod step;

use stave_canon::{Pointer, Value};

use crate::codec::Reader;
use crate::{Document, LoadError, Version, codes, strip};

/// What a plan is made into a document with.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanContext<'p> {
    /// Properties of the intent node, which name the intent.
    pub intent_node_properties: Option<&'p Value>,
    /// The intent as its author wrote it.
    pub intent_spec: Option<&'p Value>,
}

/// Makes a plan into a document, or says everything that is wrong with it.
pub fn plan_to_ir(plan: &Value, context: PlanContext<'_>) -> Result<Document, LoadError> {
    let mut reader = Reader::new();
    let document = build(&mut reader, plan, context);
    reader.finish(document)?.checked()
}

/// What every node of a plan is made from.
#[derive(Debug)]
struct Plan<'p> {
    id: String,
    tenant_id: String,
    repo_id: String,
    goal: Option<&'p str>,
    /// In the order in which they run.
    steps: Vec<Step<'p>>,
}

#[derive(Debug)]
struct Step<'p> {
    pointer: Pointer,
    id: String,
    title: String,
    order_idx: i64,
    status: Value,
    inputs: &'p Value,
    outputs: &'p Value,
}

fn build(reader: &mut Reader, plan: &Value, context: PlanContext<'_>) -> Option<Document> {
    let plan = read(reader, plan)?;
    same_tenant(reader, &plan, context.intent_spec);
    let mut nodes = Vec::new();
    let mut allow_network = false;
    let mut previous = None;
    if let Some(intent) = intent::node(reader, &plan, context) {
        allow_network = intent.allow_network;
        previous = Some(intent.node.id.clone());
        nodes.push(intent.node);
    }
    if let Some(hub) = knowledge::hub(&plan, previous.as_deref()) {
        previous = Some(hub.id.clone());
        nodes.extend(knowledge::entities(&plan, &hub.id));
        nodes.push(hub);
    }
    for step in &plan.steps {
        let Some(node) = step::node(reader, &plan, step, previous.as_deref(), allow_network) else {
            continue;
        };
        previous = Some(node.id.clone());
        nodes.push(node);
    }
    Some(Document { version: Version::default(), tenant_id: plan.tenant_id, repo_id: plan.repo_id, nodes })
}

fn read<'p>(reader: &mut Reader, plan: &'p Value) -> Option<Plan<'p>> {
    let root = Pointer::root();
    let members = reader.object(plan, &root)?;
    let id = reader.stripped_text(members, "id");
    let tenant_id = reader.stripped_text(members, "tenant_id");
    let repo_id = reader.stripped_text(members, "repo_id");
    reader.required(members, "steps");
    let goal = plan.get("goal").and_then(Value::as_str);
    let mut steps = Vec::new();
    if let Some(value) = plan.get("steps") {
        let pointer = root.key("steps");
        for (index, item) in reader.items(value, &pointer).iter().enumerate() {
            steps.extend(read_step(reader, item, pointer.index(index)));
        }
    }
    // Steps of one index keep the order in which they were written.
    steps.sort_by_key(|step: &Step<'_>| step.order_idx);
    Some(Plan { id, tenant_id, repo_id, goal, steps })
}

fn read_step<'p>(reader: &mut Reader, value: &'p Value, pointer: Pointer) -> Option<Step<'p>> {
    const NOTHING: &Value = &Value::Null;
    let members = reader.object(value, &pointer)?;
    let id = reader.stripped_text(members, "id");
    let title = reader.written_text(members, "title");
    let order = reader.required(members, "order_idx");
    let order_idx = order.and_then(|order| {
        let index = order.as_i64();
        if index.is_none() {
            reader.wrong_type(&pointer.key("order_idx"), "an integer", order);
        }
        index
    });
    let mut part = |key: &str| match value.get(key) {
        None | Some(Value::Null) => NOTHING,
        Some(part) => {
            reader.object(part, &pointer.key(key));
            part
        }
    };
    let (inputs, outputs) = (part("inputs"), part("outputs"));
    let status = value.get("status").cloned().unwrap_or_default();
    Some(Step { id, title, order_idx: order_idx.unwrap_or_default(), status, inputs, outputs, pointer })
}

/// An intent of another tenant or repository has no place in the plan's document.
fn same_tenant(reader: &mut Reader, plan: &Plan<'_>, spec: Option<&Value>) {
    let own = [("tenant_id", &plan.tenant_id), ("repo_id", &plan.repo_id)];
    for (key, own) in own {
        let Some(found) = spec.and_then(|spec| spec.get(key)).and_then(Value::as_str) else { continue };
        if strip(found) != own.as_str() {
            let pointer = Pointer::root().key("intent_spec").key(key);
            let message = format!("an intent of {key} {found:?} with a plan of {own:?}");
            reader.fault(codes::SYSTEM_CROSS_TENANT, &pointer, message);
        }
    }
}

/// A string member that is not blank, without the white space around it.
fn filled<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str).map(strip).filter(|text| !text.is_empty())
}

/// The items of a list member; none when it is absent or of another kind.
fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).unwrap_or_default()
}

/// The strings of a list that are not blank, each once, sorted.
fn string_set<'v>(items: impl IntoIterator<Item = &'v Value>) -> Vec<String> {
    let texts = items.into_iter().filter_map(Value::as_str).map(strip).filter(|text| !text.is_empty());
    let set: std::collections::BTreeSet<&str> = texts.collect();
    set.into_iter().map(str::to_owned).collect()
}
