//! What the checker says about expressions.

use stave_script::{ExpressionType, check_expression};

use crate::findings::{condition, embedded};

const EDGE: &[&str] = &["value", "score", "outputs", "context"];

#[track_caller]
fn finds(text: &str, expected: &[&str]) {
    assert_eq!(condition(text, EDGE), expected, "{text}");
}

#[test]
fn ordinary_conditions_are_clean() {
    for text in [
        "value > 0",
        "score > 0.7 and not outputs['done']",
        "len(value) == 0",
        "value['label'] in ('a', 'b')",
        "any(row['ok'] for row in value)",
        "max(value, key=lambda row: row['n'])['n'] > 1",
        "value.get('kind', '').lower().startswith('x')",
        "context.tier == 'gold' or context.get('beta', False)",
        "isinstance(value, str)",
        "[a for a, b in zip(value, score)] == []",
        "  value is not None\n",
        "0 <= value < 10",
        "outputs['valid']",
        "value if score else outputs['x']",
        "f'{value}' == 'x'",
    ] {
        finds(text, &[]);
    }
}

#[test]
fn what_is_not_one_expression_is_refused() {
    finds("score >", &["1:7 `>` invalid-expression"]);
    finds("value = 1", &["1:7 `=` invalid-expression"]);
    finds("len(value) > 0 and", &["1:16 `and` invalid-expression"]);
    finds("value['head'", &["1:12 `'` invalid-expression"]);
    finds("", &["1:1 `` invalid-expression"]);
    finds("import os", &["1:1 `import` invalid-expression"]);
    finds("1\n2", &["2:1 `2` invalid-expression"]);
}

#[test]
fn only_bound_names_and_listed_calls_are_used() {
    finds("len(hits) == 0", &["1:5 `hits` unknown-expression-name"]);
    finds("a > b", &["1:1 `a` unknown-expression-name", "1:5 `b` unknown-expression-name"]);
    finds("__import__('os').system('true') == 0", &["1:1 `__import__` forbidden-call"]);
    finds("open('x') == 1", &["1:1 `open` forbidden-call"]);
    finds("value.append(1) == 1", &["1:7 `append` forbidden-call"]);
    finds("value() == 1", &["1:1 `value` forbidden-call"]);
    finds("(lambda: 1)() == 1", &["1:2 `lambda: 1` forbidden-call", "1:2 `lambda: 1` forbidden-expression"]);
    finds("value.score > 1", &["1:7 `score` unknown-attribute"]);
    finds("value.__class__ == 1", &["1:7 `__class__` unknown-attribute"]);
    finds("context['tier'] == 1", &["1:1 `context['tier']` subscripted-context"]);
    finds("(x := value) > x", &["1:2 `x := value` forbidden-expression"]);
    finds("[x for x in value] == x", &["1:23 `x` unknown-expression-name"]);
    finds("sum(map(str, value)) > 1", &["1:5 `map` forbidden-call"]);
}

#[test]
fn a_condition_that_is_plainly_no_boolean_is_a_warning() {
    finds("len(value)", &["1:1 `len(value)` non-boolean-condition"]);
    finds("'yes'", &["1:1 `'yes'` non-boolean-condition"]);
    finds("value - 1", &["1:1 `value - 1` non-boolean-condition"]);
    finds("value or score", &[]);
}

#[test]
fn the_type_of_the_result_is_guessed_only_when_it_shows() {
    for (text, expected) in [
        ("value > 1", ExpressionType::Boolean),
        ("not value", ExpressionType::Boolean),
        ("value", ExpressionType::Unknown),
        ("value * 2", ExpressionType::Unknown),
        ("1 + 2", ExpressionType::Number),
        ("value + 'x'", ExpressionType::String),
        ("[value]", ExpressionType::Array),
        ("{'a': value}", ExpressionType::Object),
        ("None", ExpressionType::Null),
        ("1 if value else 2", ExpressionType::Number),
        ("1 if value else 'a'", ExpressionType::Unknown),
        ("sorted(value)", ExpressionType::Array),
        ("value.split(',')", ExpressionType::Array),
    ] {
        let (_, embedded) = embedded(text);
        assert_eq!(check_expression(&embedded, EDGE).result, expected, "{text}");
    }
}

#[test]
fn names_and_paths_are_listed() {
    let (sources, embedded) =
        embedded("outputs['a']['b'] > value[0]['c'] and context.tier == context.get('x')");
    let check = check_expression(&embedded, EDGE);
    let paths: Vec<_> = check
        .paths
        .iter()
        .map(|used| format!("{} `{}`", used.path.join("."), sources.slice(used.span)))
        .collect();
    assert_eq!(
        paths,
        ["outputs.a.b `outputs['a']['b']`", "context.tier `context.tier`", "context.x `context.get('x')`"]
    );
    let names: Vec<_> = check.names.iter().map(|used| used.name.as_str()).collect();
    assert_eq!(names, ["outputs", "value", "context", "context"]);
}

#[test]
fn too_deep_is_refused_without_a_crash() {
    for text in
        ["(".repeat(4_000), format!("1{}", "+1".repeat(4_000)), format!("value{}", ".a".repeat(4_000))]
    {
        let found = condition(&text, EDGE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("invalid-expression"));
    }
}
