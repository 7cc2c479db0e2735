//! Documents that keep every rule, made up.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use stave_canon::{Object, Value};
use stave_system::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalBudget, OperationalContract,
    ProvenanceKind, ProvenancePointer, StateMachineContract, StateTransition,
};
use stave_system::{NodeKind, SystemDocument, SystemNode, SystemVersion};

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", " a ", "\u{1f}b", "é", "😀", "\u{ffff}", "l o n g"]).prop_map(str::to_owned)
}

fn object() -> impl Strategy<Value = Object> {
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        name().prop_map(Value::from),
        vec(name(), 0..3).prop_map(Value::from),
    ];
    let keys =
        select(vec!["order_idx", "coordination_parallel_group", "metadata", "knowledge_assertion_ids", "k"]);
    vec((keys, value), 0..4)
        .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn provenance() -> impl Strategy<Value = ProvenancePointer> {
    let sha256 = proptest::option::of("[0-9a-f]{64}");
    (select(ProvenanceKind::ALL.to_vec()), name(), proptest::option::of(name()), sha256, object()).prop_map(
        |(kind, source_id, locator, sha256, metadata)| ProvenancePointer {
            tenant_id: "t".to_owned(),
            kind,
            source_id,
            locator,
            sha256,
            metadata,
        },
    )
}

fn contract() -> impl Strategy<Value = OperationalContract> {
    let triggers = proptest::collection::btree_set(select(vec!["t1", "t2", "t3"]), 1..4);
    let steps = proptest::collection::btree_set(select(vec!["s1", "s2", "s3"]), 1..4);
    let budget = proptest::option::of(any::<u32>().prop_map(|steps| OperationalBudget {
        max_steps: Some(i64::from(steps).into()),
        ..OperationalBudget::default()
    }));
    let parts =
        (name(), select(ContractCategory::ALL.to_vec()), triggers, steps, budget, any::<Index>(), object());
    parts.prop_map(|(contract_id, contract_category, triggers, steps, runtime_budget, pick, details)| {
        let trigger_id = Some((*pick.get(&triggers.iter().copied().collect::<Vec<_>>())).to_owned());
        let transitions = steps.iter().map(|step| StateTransition {
            transition_id: (*step).to_owned(),
            from_state: "A".to_owned(),
            to_state: "B".to_owned(),
            trigger_id: trigger_id.clone(),
            guard: Some(details.clone()),
        });
        let machine =
            StateMachineContract { initial_state: "A".to_owned(), transitions: transitions.collect() };
        OperationalContract {
            contract_id,
            contract_category,
            triggers: triggers
                .iter()
                .map(|id| ContractTrigger {
                    trigger_id: (*id).to_owned(),
                    source: "s".to_owned(),
                    details: details.clone(),
                })
                .collect(),
            io_contract: IoContract {
                input_keys: vec!["i".to_owned()],
                output_keys: vec!["o".to_owned(), "o".to_owned()],
                schema: None,
            },
            state_machine: (contract_category == ContractCategory::Runtime).then_some(machine),
            runtime_budget,
            acceptance: Some(details),
        }
    })
}

fn node(index: usize) -> impl Strategy<Value = SystemNode> {
    let effects = proptest::option::of(
        (any::<bool>(), vec(name(), 0..3)).prop_map(|(network, tools)| EffectAnnotation {
            network,
            tools,
            ..EffectAnnotation::default()
        }),
    );
    let depends_on = vec(prop_oneof![name(), (0..6_usize).prop_map(|other| format!("n{other}"))], 0..5);
    let parts = (
        select(NodeKind::ALL.to_vec()),
        name(),
        object(),
        depends_on,
        effects,
        vec(provenance(), 0..4),
        proptest::option::of(contract()),
    );
    parts.prop_map(move |(kind, name, properties, depends_on, effects, provenance, contract)| SystemNode {
        properties,
        depends_on,
        effects,
        provenance,
        contract,
        ..SystemNode::new(format!("n{index}"), " t", kind, name)
    })
}

pub(crate) fn document() -> impl Strategy<Value = SystemDocument> {
    let nodes = (0..6_usize).prop_flat_map(|count| (0..count).map(node).collect::<Vec<_>>());
    (select(SystemVersion::ALL.to_vec()), nodes).prop_map(|(version, nodes)| SystemDocument {
        version,
        tenant_id: "t".to_owned(),
        repo_id: " r ".to_owned(),
        nodes,
    })
}
