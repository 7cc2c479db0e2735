//! Plans to documents: every step of a plan becomes a workflow node, the intent and what is known become
//! nodes before them.
//!
//! Invariant: a plan, its intent and every row that becomes provenance of a step belong to one tenant;
//! otherwise there is no document.

mod intent;
mod knowledge;
mod step;

use stave_canon::{Pointer, Value};
use stave_shape::{Definitions, Place, Reader, Shape};

use crate::codec::leaves::{stripped, text};
use crate::codec::{finish, note};
use crate::{LoadError, SystemDocument, SystemVersion, codes, strip};

/// What a plan is made into a document with.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanContext<'p> {
    /// Properties of the intent node, which name the intent.
    pub intent_node_properties: Option<&'p Value>,
    /// The intent as its author wrote it.
    pub intent_spec: Option<&'p Value>,
}

/// Makes a plan into a document, or says everything that is wrong with it.
pub fn plan_to_ir(plan: &Value, context: PlanContext<'_>) -> Result<SystemDocument, LoadError> {
    let mut reader = Reader::new();
    let document = build(&mut reader, plan, context);
    finish(reader, document)?.checked()
}

/// What every node of a plan is made from.
#[derive(Debug, Shape)]
#[shape(open)]
struct Plan {
    #[shape(stand_in, with = stripped)]
    id: String,
    #[shape(stand_in, with = stripped)]
    tenant_id: String,
    #[shape(stand_in, with = stripped)]
    repo_id: String,
    /// Only a string says what the plan is for.
    goal: Option<Value>,
    /// In the order in which they run.
    #[shape(stand_in)]
    steps: Vec<PlacedStep>,
}

#[derive(Debug, Shape)]
#[shape(open)]
struct Step {
    #[shape(stand_in, with = stripped)]
    id: String,
    #[shape(stand_in, with = text)]
    title: String,
    #[shape(stand_in)]
    order_idx: i64,
    #[shape(default)]
    status: Value,
    #[shape(default, null_is_absent, with = part)]
    inputs: Value,
    #[shape(default, null_is_absent, with = part)]
    outputs: Value,
}

/// A step with its place in the plan.
#[derive(Debug)]
struct PlacedStep {
    pointer: Pointer,
    step: Step,
}

fn build(reader: &mut Reader, plan: &Value, context: PlanContext<'_>) -> Option<SystemDocument> {
    let mut plan = Plan::read(plan, &Place::root(), reader)?;
    // Steps of one index keep the order in which they were written.
    plan.steps.sort_by_key(|placed| placed.step.order_idx);
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
    Some(SystemDocument {
        version: SystemVersion::default(),
        tenant_id: plan.tenant_id,
        repo_id: plan.repo_id,
        nodes,
    })
}

impl Shape for PlacedStep {
    fn read<N: stave_shape::ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        Step::read(node, at, reader).map(|step| PlacedStep { pointer: at.pointer(), step })
    }

    fn write(&self) -> Value {
        self.step.write()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        Step::schema(definitions)
    }
}

impl Plan {
    fn goal(&self) -> Option<&str> {
        self.goal.as_ref().and_then(Value::as_str)
    }

    fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.iter().map(|placed| &placed.step)
    }
}

/// An object that stays the value it is.
mod part {
    use stave_canon::{Object, Value};
    use stave_shape::{Definitions, Place, Reader, Shape, ValueNode};

    pub(super) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Value> {
        Object::read(node, at, reader).map(Value::Object)
    }

    pub(super) fn write(part: &Value) -> Value {
        part.clone()
    }

    pub(super) fn schema(definitions: &mut Definitions) -> Value {
        Object::schema(definitions)
    }
}

/// An intent of another tenant or repository has no place in the plan's document.
fn same_tenant(reader: &mut Reader, plan: &Plan, spec: Option<&Value>) {
    let own = [("tenant_id", &plan.tenant_id), ("repo_id", &plan.repo_id)];
    for (key, own) in own {
        let Some(found) = spec.and_then(|spec| spec.get(key)).and_then(Value::as_str) else { continue };
        if strip(found) != own.as_str() {
            let pointer = Pointer::root().key("intent_spec").key(key);
            let message = format!("an intent of {key} {found:?} with a plan of {own:?}");
            note(reader, codes::SYSTEM_CROSS_TENANT, &pointer, message);
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
