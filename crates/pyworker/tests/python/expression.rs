//! Expressions over many scopes, and folds.

use crate::support::{object, pool};
use stave_canon::{Object, Value};
use stave_script::{JobLimits, ScriptError};

async fn evaluate(expression: &str, scopes: &[&str]) -> Vec<Result<Value, ScriptError>> {
    let scopes = scopes.iter().map(|scope| object(scope)).collect();
    pool(1).evaluate(expression, scopes, &JobLimits::DEFAULT).await.unwrap()
}

#[tokio::test]
async fn each_scope_has_its_own_outcome() {
    let outcomes = evaluate(
        "item['score'] > 0.5",
        &[
            r#"{"item": {"score": 0.9}, "index": 0}"#,
            r#"{"item": {}, "index": 1}"#,
            r#"{"item": {"score": 0.1}, "index": 2}"#,
        ],
    )
    .await;
    assert_eq!(outcomes[0], Ok(Value::Bool(true)));
    let error = outcomes[1].as_ref().unwrap_err();
    assert_eq!(error.kind(), "KeyError");
    let range = error.range().unwrap();
    assert_eq!((range.start.line, range.start.column, range.end.column), (1, 1, 14));
    assert_eq!(outcomes[2], Ok(Value::Bool(false)));
}

#[tokio::test]
async fn the_context_has_attributes_and_get() {
    let scope = r#"{"value": 3, "context": {"limit": 2}, "class": 1}"#;
    assert_eq!(evaluate("value > context.limit", &[scope]).await[0], Ok(Value::Bool(true)));
    assert_eq!(evaluate("context.get('absent', 7)", &[scope]).await[0], Ok(Value::from(7)));
    let missing = evaluate("context.absent", &[scope]).await;
    assert_eq!(missing[0].as_ref().unwrap_err().kind(), "AttributeError");
}

#[tokio::test]
async fn comparing_null_is_an_error_and_not_false() {
    let outcomes = evaluate("value > 0", &[r#"{"value": null}"#]).await;
    assert_eq!(outcomes[0].as_ref().unwrap_err().kind(), "TypeError");
}

#[tokio::test]
async fn white_space_and_brackets_around_an_expression_do_not_matter() {
    for expression in ["  value + 1\n", "(value +\n 1)", "value + 1 # one more"] {
        assert_eq!(evaluate(expression, &[r#"{"value": 1}"#]).await[0], Ok(Value::from(2)), "{expression}");
    }
}

#[tokio::test]
async fn a_statement_is_no_expression() {
    for text in ["value = 1", "import os", "1\n2"] {
        let outcomes = evaluate(text, &[r#"{"value": 1}"#]).await;
        assert_eq!(outcomes[0].as_ref().unwrap_err().kind(), "SyntaxError", "{text}");
    }
}

#[tokio::test]
async fn a_fold_starts_with_its_initial_value() {
    let pool = pool(1);
    let items = [1.0, 2.5, 7.0].map(Value::from).to_vec();
    let sum = pool.fold("acc + item", Value::from(0), items, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(sum.to_string(), "10.5");
    let empty = pool.fold("acc + item", Value::from(0), Vec::new(), &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(empty, Value::from(0));
    let items = vec![Value::from("a"), Value::from("b")];
    let indexed = pool
        .fold("acc + [[index, item]]", Value::Array(Vec::new()), items, &JobLimits::DEFAULT)
        .await
        .unwrap();
    assert_eq!(indexed.to_string(), r#"[[0,"a"],[1,"b"]]"#);
    let error =
        pool.fold("acc + item", Value::from(0), vec![Value::Null], &JobLimits::DEFAULT).await.unwrap_err();
    assert_eq!(error.kind(), "TypeError");
}

#[tokio::test]
async fn no_scope_needs_no_worker() {
    let outcomes = pool(1).evaluate("value", Vec::<Object>::new(), &JobLimits::DEFAULT).await.unwrap();
    assert!(outcomes.is_empty());
}
