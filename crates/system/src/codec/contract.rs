//! The contract object. Unlike its surroundings it knows all of its keys, and refuses others.

use stave_canon::{Pointer, Value};

use super::reader::{Members, Null, Reader};
use crate::model::{
    ContractCategory, ContractTrigger, IoContract, OperationalBudget, OperationalContract,
    StateMachineContract, StateTransition,
};
use crate::verify::invariants;
use crate::{codes, strip};

pub(super) fn read(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<OperationalContract> {
    let members = reader.object(value, pointer)?;
    reader.only(
        members,
        &[
            "contract_id",
            "contract_category",
            "triggers",
            "io_contract",
            "state_machine",
            "runtime_budget",
            "acceptance",
        ],
    );
    let contract_id = reader.stripped_text(members, "contract_id");
    let category = category(reader, members);
    let triggers = each(reader, members, "triggers", trigger);
    let io_contract = reader.required(members, "io_contract");
    let io_contract = io_contract.and_then(|value| io(reader, value, &pointer.key("io_contract")));
    let state_machine = reader.optional(members, "state_machine", Null::IsFault, "an object");
    let state_machine = state_machine.and_then(|value| machine(reader, value, &pointer.key("state_machine")));
    let runtime_budget = reader.optional(members, "runtime_budget", Null::IsFault, "an object");
    let runtime_budget =
        runtime_budget.and_then(|value| budget(reader, value, &pointer.key("runtime_budget")));
    let acceptance = reader.optional_object(members, "acceptance", Null::IsFault);
    let contract = OperationalContract {
        contract_id,
        // A category that could not be read must not bring further faults; runtime allows everything.
        contract_category: category.unwrap_or(ContractCategory::Runtime),
        triggers,
        io_contract: io_contract.unwrap_or(IoContract {
            input_keys: Vec::new(),
            output_keys: Vec::new(),
            schema: None,
        }),
        state_machine,
        runtime_budget,
        acceptance,
    };
    reader.note(invariants::contract(&contract, pointer));
    Some(contract)
}

/// Reads the items of a list that must have some. An item that cannot be read is an empty stand-in, so
/// that the others keep their places.
fn each<T>(
    reader: &mut Reader,
    members: Members<'_>,
    key: &str,
    read: impl Fn(&mut Reader, &Value, &Pointer) -> T,
) -> Vec<T> {
    let pointer = members.pointer.key(key);
    let items = reader.filled_items(members, key).iter().enumerate();
    items.map(|(index, item)| read(reader, item, &pointer.index(index))).collect()
}

fn category(reader: &mut Reader, members: Members<'_>) -> Option<ContractCategory> {
    let pointer = members.pointer.key("contract_category");
    let value = reader.required(members, "contract_category")?;
    let word = strip(reader.text(value, &pointer)?).to_lowercase();
    reader.word(&pointer, &word, ContractCategory::ALL, ContractCategory::word)
}

fn trigger(reader: &mut Reader, value: &Value, pointer: &Pointer) -> ContractTrigger {
    let mut trigger = ContractTrigger {
        trigger_id: String::new(),
        source: String::new(),
        details: stave_canon::Object::new(),
    };
    if let Some(members) = reader.object(value, pointer) {
        reader.only(members, &["trigger_id", "source", "details"]);
        trigger.trigger_id = reader.stripped_text(members, "trigger_id");
        trigger.source = reader.stripped_text(members, "source");
        trigger.details = reader.optional_object(members, "details", Null::IsFault).unwrap_or_default();
    }
    trigger
}

fn io(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<IoContract> {
    let members = reader.object(value, pointer)?;
    reader.only(members, &["input_keys", "output_keys", "schema"]);
    Some(IoContract {
        input_keys: reader.keys(members, "input_keys"),
        output_keys: reader.keys(members, "output_keys"),
        schema: reader.optional_object(members, "schema", Null::IsFault),
    })
}

fn machine(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<StateMachineContract> {
    let members = reader.object(value, pointer)?;
    reader.only(members, &["initial_state", "transitions"]);
    Some(StateMachineContract {
        initial_state: reader.stripped_text(members, "initial_state"),
        transitions: each(reader, members, "transitions", transition),
    })
}

fn transition(reader: &mut Reader, value: &Value, pointer: &Pointer) -> StateTransition {
    let mut transition = StateTransition {
        transition_id: String::new(),
        from_state: String::new(),
        to_state: String::new(),
        trigger_id: None,
        guard: None,
    };
    if let Some(members) = reader.object(value, pointer) {
        reader.only(members, &["transition_id", "from_state", "to_state", "trigger_id", "guard"]);
        transition.transition_id = reader.stripped_text(members, "transition_id");
        transition.from_state = reader.stripped_text(members, "from_state");
        transition.to_state = reader.stripped_text(members, "to_state");
        let trigger = reader.optional(members, "trigger_id", Null::IsAbsent, "a string");
        let trigger = trigger.and_then(|value| reader.text(value, &pointer.key("trigger_id")));
        transition.trigger_id = trigger.map(|trigger| strip(trigger).to_owned());
        transition.guard = reader.optional_object(members, "guard", Null::IsFault);
    }
    transition
}

fn budget(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<OperationalBudget> {
    const BOUNDS: [&str; 3] = ["max_seconds", "max_steps", "max_tokens"];
    let members = reader.object(value, pointer)?;
    reader.only(members, &BOUNDS);
    if BOUNDS.iter().all(|bound| members.object.get(*bound).is_none_or(Value::is_null)) {
        reader.fault(
            codes::SYSTEM_BROKEN_CONTRACT,
            pointer,
            "must set at least one of max_seconds, max_steps, max_tokens",
        );
    }
    Some(OperationalBudget {
        max_seconds: reader.optional_count(members, "max_seconds"),
        max_steps: reader.optional_count(members, "max_steps"),
        max_tokens: reader.optional_count(members, "max_tokens"),
    })
}
