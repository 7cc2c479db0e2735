//! Laws of the canonical form that hold for every document, and of loading that hold for every text.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use stave_canon::{Object, Value};
use stave_system::model::{
    ContractCategory, ContractTrigger, EffectAnnotation, IoContract, OperationalBudget, OperationalContract,
    ProvenanceKind, ProvenancePointer, StateMachineContract, StateTransition,
};
use stave_system::verify::verify;
use stave_system::{Document, Node, NodeKind, Version, diff, workflow_order};

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

fn node(index: usize) -> impl Strategy<Value = Node> {
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
    parts.prop_map(move |(kind, name, properties, depends_on, effects, provenance, contract)| Node {
        properties,
        depends_on,
        effects,
        provenance,
        contract,
        ..Node::new(format!("n{index}"), " t", kind, name)
    })
}

fn document() -> impl Strategy<Value = Document> {
    let nodes = (0..6_usize).prop_flat_map(|count| (0..count).map(node).collect::<Vec<_>>());
    (select(Version::ALL.to_vec()), nodes).prop_map(|(version, nodes)| Document {
        version,
        tenant_id: "t".to_owned(),
        repo_id: " r ".to_owned(),
        nodes,
    })
}

/// The same document with everything that is a set in the opposite order.
fn reversed(document: &Document) -> Document {
    let mut document = document.clone();
    document.nodes.reverse();
    for node in &mut document.nodes {
        node.depends_on.reverse();
        node.provenance.reverse();
        node.properties.reverse();
        if let Some(contract) = &mut node.contract {
            contract.triggers.reverse();
            if let Some(machine) = &mut contract.state_machine {
                machine.transitions.reverse();
            }
        }
    }
    document
}

/// `value` with the part at a random place replaced.
fn damaged(value: &Value, place: Index, with: &Value) -> Value {
    fn parts(value: &Value) -> usize {
        1 + match value {
            Value::Array(items) => items.iter().map(parts).sum(),
            Value::Object(object) => object.values().map(parts).sum(),
            _ => 0,
        }
    }
    fn replace(value: &mut Value, left: &mut usize, with: &Value) {
        if *left == 0 {
            *value = with.clone();
        }
        *left = left.wrapping_sub(1);
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| replace(item, left, with)),
            Value::Object(object) => object.values_mut().for_each(|member| replace(member, left, with)),
            _ => {}
        }
    }
    let mut copy = value.clone();
    replace(&mut copy, &mut place.index(parts(value)), with);
    copy
}

proptest! {
    #[test]
    fn a_saved_document_loads_again_with_the_same_fingerprint(document in document()) {
        let loaded = Document::from_text(&document.to_file_text()).unwrap();
        prop_assert_eq!(loaded.fingerprint(), document.fingerprint());
        prop_assert_eq!(loaded.to_file_text(), document.to_file_text());
        prop_assert_eq!(document.checked().unwrap(), loaded);
    }

    #[test]
    fn the_order_of_what_is_a_set_does_not_show(document in document()) {
        let other = reversed(&document);
        prop_assert_eq!(other.to_file_text(), document.to_file_text());
        prop_assert_eq!(other.fingerprint(), document.fingerprint());
        let order = |document: &Document| -> Vec<String> {
            workflow_order(document).into_iter().map(|node| node.id.clone()).collect()
        };
        prop_assert_eq!(order(&other), order(&document));
        prop_assert_eq!(diff(&document, &other).unwrap(), stave_system::Difference::default());
    }

    #[test]
    fn a_difference_undoes_itself(before in document(), after in document()) {
        let (there, back) = (diff(&before, &after).unwrap(), diff(&after, &before).unwrap());
        prop_assert_eq!(there.added, back.removed);
        prop_assert_eq!(there.removed, back.added);
        prop_assert_eq!(there.changed, back.changed);
    }

    #[test]
    fn a_damaged_document_is_loaded_or_refused_with_places_but_never_panics(
        document in document(),
        place in any::<Index>(),
        with in prop_oneof![
            Just(Value::Null), Just(Value::from("")), Just(Value::from(1)), Just(Value::from(-0.5)),
            Just(Value::from(true)), Just(Value::Array(vec![])), Just(Value::Object(Object::new())),
        ],
    ) {
        let value = damaged(&document.to_value(), place, &with);
        match Document::from_value(&value) {
            Ok(document) => {
                for finding in verify(&document) {
                    prop_assert!(value.pointer(finding.pointer.as_str()).is_some(), "{:?}", finding);
                }
                prop_assert_eq!(document.checked().unwrap().fingerprint(), document.fingerprint());
            }
            Err(error) => {
                prop_assert!(!error.faults().is_empty());
                for fault in error.faults() {
                    prop_assert!(value.pointer(fault.pointer.as_str()).is_some(), "{}", fault);
                }
            }
        }
    }

    #[test]
    fn loading_any_text_never_panics(text in any::<String>()) {
        if let Ok(document) = Document::from_text(&text) {
            prop_assert_eq!(document.checked().unwrap().fingerprint(), document.fingerprint());
        }
    }
}
