//! What the checks of a flow learn from a transform.

use stave_diag::Span;
use stave_script::python::{StateMethod, TransformFacts};
use stave_script::{Used, check_transform};

use crate::findings::embedded;

fn facts(code: &str) -> TransformFacts {
    let (_, embedded) = embedded(code);
    check_transform(&embedded, Span::new(embedded.whole().source, 0, 0)).facts
}

fn names(used: &[Used]) -> Vec<String> {
    used.iter().map(|used| format!("{}{}", used.name, if used.optional { "?" } else { "" })).collect()
}

#[test]
fn every_literal_use_of_the_arguments_is_listed() {
    let facts = facts(
        "\
def transform(inputs, context, state):
    a = inputs['a']
    b = inputs.get('b', 1)
    if 'c' in inputs:
        c = inputs['c']
    user = context.user_id
    nick = context.get('nick')
    seen = await state.get('seen', [])
    await state.set('seen', seen)
    key = 'dynamic'
    await state.delete(key)
    if a:
        return {'x': 1, 'y': 2}
    return {'x': 1, **seen}
",
    );
    assert_eq!(names(&facts.inputs), ["a", "b?", "c?", "c"]);
    assert_eq!(names(&facts.context), ["user_id", "nick?"]);
    assert!(facts.inputs_complete && facts.context_complete && facts.state_complete);
    let state: Vec<_> = facts.state.iter().map(|used| (used.method, used.key.as_deref())).collect();
    assert_eq!(
        state,
        [(StateMethod::Get, Some("seen")), (StateMethod::Set, Some("seen")), (StateMethod::Delete, None)]
    );
    let returns: Vec<_> =
        facts.returns.iter().map(|returned| (names(&returned.keys), returned.complete)).collect();
    assert_eq!(returns, [(vec!["x".to_owned(), "y".to_owned()], true), (vec!["x".to_owned()], false)]);
    assert!(!facts.is_async);
}

#[test]
fn an_argument_that_is_passed_on_makes_its_list_incomplete() {
    let facts = facts(
        "async def transform(data, request, store):\n    helper(store)\n    for key in data:\n        print(request)\n    return data\n",
    );
    assert!(!facts.inputs_complete && !facts.context_complete && !facts.state_complete);
    assert!(facts.is_async);
    assert_eq!(facts.returns.len(), 1);
    assert!(!facts.returns[0].complete);
}

#[test]
fn the_returns_of_inner_functions_do_not_count() {
    let facts = facts(
        "def transform(inputs, context, state):\n    def inner(inputs):\n        return inputs['inner']\n    return {'x': inner({})}\n",
    );
    assert_eq!(names(&facts.inputs), Vec::<String>::new());
    assert!(facts.inputs_complete);
    assert_eq!(facts.returns.len(), 1);
}
