//! What code sees and what comes out of it.

use crate::support::{Memory, job, object, pool, returning};
use stave_canon::{Object, Value};
use stave_script::{JobLimits, ScriptError, StateHost, StateHostError, TransformJob};

const HELPER: &str = "def complex_business_logic(data):\n    return {'name': data['name'].upper()}\n\n";

/// The specification's code transform example, unchanged.
const EXAMPLE: &str = "\
def transform(inputs, context, state):
    # Access inputs
    user_data = inputs['user_data']

    # Access context
    user_id = context.user_id

    # Access state (if configured)
    history = await state.get('history', [])

    # Custom logic
    processed = complex_business_logic(user_data)

    # Update state
    history.append(processed)
    await state.set('history', history[-10:])

    # Return outputs
    return {
        'result': processed,
        'metadata': {'processed_at': context.event_time}
    }
";

const GET_CONVERSATION: &str = "\
def transform(inputs, context, state):
    history = await state.get('history', [])
    return {'history': history[-5:]}  # Last 5 messages
";

const UPDATE_CONVERSATION: &str = "\
def transform(inputs, context, state):
    history = await state.get('history', [])
    history.append({
        'role': 'user',
        'content': inputs['query'],
        'timestamp': context.event_time
    })
    history.append({
        'role': 'assistant',
        'content': inputs['response']['answer'],
        'timestamp': context.event_time
    })
    await state.set('history', history)
    return {'success': True}
";

fn with_state(code: &str, inputs: &str, context: &str) -> TransformJob {
    TransformJob { code: code.to_owned(), inputs: object(inputs), context: object(context), has_state: true }
}

#[tokio::test]
async fn the_specifications_code_example_runs_as_it_stands() {
    let (pool, memory) = (pool(1), Memory::default());
    let code = format!("{HELPER}{EXAMPLE}");
    let job = with_state(
        &code,
        r#"{"user_data": {"name": "ann"}}"#,
        r#"{"user_id": "u1", "event_time": "2026-02-01T00:00:00Z"}"#,
    );
    for turn in 1..=12_usize {
        let output = pool.transform(job.clone(), Some(&memory), &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(
            output.value.to_string(),
            r#"{"result":{"name":"ANN"},"metadata":{"processed_at":"2026-02-01T00:00:00Z"}}"#
        );
        let history = memory.get("history").await.unwrap().unwrap();
        assert_eq!(history.as_array().unwrap().len(), turn.min(10));
    }
}

#[tokio::test]
async fn the_complete_examples_conversation_runs_as_it_stands() {
    let (pool, memory) = (pool(1), Memory::default());
    let context = r#"{"session_id": "s", "event_time": "2026-04-01T10:00:00Z"}"#;
    let update =
        with_state(UPDATE_CONVERSATION, r#"{"query": "hi", "response": {"answer": "hello"}}"#, context);
    let output = pool.transform(update, Some(&memory), &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value.to_string(), r#"{"success":true}"#);
    let read = with_state(GET_CONVERSATION, r#"{"session_id": "s"}"#, context);
    let output = pool.transform(read, Some(&memory), &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(
        output.value.to_string(),
        r#"{"history":[{"role":"user","content":"hi","timestamp":"2026-04-01T10:00:00Z"},{"role":"assistant","content":"hello","timestamp":"2026-04-01T10:00:00Z"}]}"#
    );
}

#[tokio::test]
async fn an_async_def_and_gather_over_two_reads_work() {
    let memory = Memory::default();
    memory.set("a", Value::from(1)).await.unwrap();
    let code = "\
import asyncio

async def transform(inputs, context, state):
    a, b = await asyncio.gather(state.get('a'), state.get('b', 20))
    await state.delete('a')
    return {'sum': a + b}
";
    let output =
        pool(1).transform(with_state(code, "{}", "{}"), Some(&memory), &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value.to_string(), r#"{"sum":21}"#);
    assert!(memory.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_missing_context_field_is_an_error_by_attribute_and_none_by_get() {
    let pool = pool(1);
    let context = object(r#"{"user_id": "u", "tags": ["x"]}"#);
    let with = |expression: &str| TransformJob { context: context.clone(), ..returning(expression) };
    for (expression, json) in [
        ("[context.user_id, context.tags[0]]", r#"["u","x"]"#),
        ("[context.get('nick'), context.get('nick', 'n'), context.get('user_id')]", r#"[null,"n","u"]"#),
        ("[hasattr(context, 'nick'), getattr(context, 'nick', 3)]", "[false,3]"),
    ] {
        let output = pool.transform(with(expression), None, &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(output.value.to_string(), json);
    }
    let error = pool.transform(with("context.nick"), None, &JobLimits::DEFAULT).await.unwrap_err();
    assert_eq!(error.to_string(), "AttributeError: 'Context' object has no attribute 'nick'");
    let range = error.range().unwrap();
    assert_eq!((range.start.line, range.start.column), (2, 12));
}

#[tokio::test]
async fn state_without_a_state_section_raises_on_every_use() {
    let pool = pool(1);
    for expression in ["await state.get('x')", "state.get", "await state.set('x', 1)", "state.anything"] {
        let error = pool.transform(returning(expression), None, &JobLimits::DEFAULT).await.unwrap_err();
        assert!(
            error.to_string().starts_with("RuntimeError: this node has no state"),
            "{expression}: {error}"
        );
    }
}

#[tokio::test]
async fn a_failing_store_ends_the_job_and_cannot_be_swallowed() {
    struct Broken;
    #[async_trait::async_trait]
    impl StateHost for Broken {
        async fn get(&self, _: &str) -> Result<Option<Value>, StateHostError> {
            Err(StateHostError("connection refused".to_owned()))
        }
        async fn set(&self, _: &str, _: Value) -> Result<(), StateHostError> {
            Ok(())
        }
        async fn delete(&self, _: &str) -> Result<(), StateHostError> {
            Ok(())
        }
    }
    let code = "\
def transform(inputs, context, state):
    try:
        return await state.get('x')
    except Exception:
        return 'swallowed'
";
    let pool = pool(1);
    let error =
        pool.transform(with_state(code, "{}", "{}"), Some(&Broken), &JobLimits::DEFAULT).await.unwrap_err();
    assert_eq!(error, ScriptError::State(StateHostError("connection refused".to_owned())));
    let output = pool.transform(returning("1"), None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value, Value::from(1));
}

#[tokio::test]
async fn the_clock_stands_at_the_event_time() {
    let pool = pool(1);
    let cases = [
        ("datetime.now().isoformat()", "2026-05-06T07:08:09"),
        ("datetime.now(timezone.utc).isoformat()", "2026-05-06T07:08:09+00:00"),
        ("datetime.now(timezone(timedelta(hours=2))).isoformat()", "2026-05-06T09:08:09+02:00"),
        ("date.today().isoformat()", "2026-05-06"),
    ];
    for (expression, expected) in cases {
        let code = format!(
            "from datetime import date, datetime, timedelta, timezone\n\ndef transform(inputs, context, state):\n    return {expression}\n"
        );
        let output = pool.transform(job(&code), None, &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(output.value, Value::from(expected), "{expression}");
    }
    let clockless = TransformJob {
        context: Object::new(),
        ..job(
            "from datetime import datetime\n\ndef transform(inputs, context, state):\n    return str(datetime.now())\n",
        )
    };
    let error = pool.transform(clockless, None, &JobLimits::DEFAULT).await.unwrap_err();
    assert!(error.to_string().contains("there is no clock"), "{error}");
}

#[tokio::test]
async fn the_machine_is_out_of_reach() {
    let pool = pool(1);
    for (imports, expression, kind) in [
        ("", "open('/etc/passwd').read()", "PermissionError"),
        ("import os", "os.getenv('PATH')", "PermissionError"),
        ("import os", "os.environ['PATH']", "PermissionError"),
        ("from pathlib import Path", "Path('/etc/passwd').read_text()", "PermissionError"),
        ("from pathlib import Path", "Path('/tmp/x').write_text('x')", "PermissionError"),
        ("", "__import__('os').system('true')", "NameError"),
        ("", "eval('1')", "NameError"),
        ("", "().__class__.__bases__", "AttributeError"),
    ] {
        let code = format!("{imports}\n\ndef transform(inputs, context, state):\n    return {expression}\n");
        let error = pool.transform(job(&code), None, &JobLimits::DEFAULT).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{expression}: {error}");
    }
}

#[tokio::test]
async fn values_come_back_as_they_went_in() {
    let pool = pool(1);
    let text = r#"{"big":123456789012345678901234567890,"negative":-98765432109876543210,"small":-9223372036854775808,"one":1,"one_point":1.0,"tiny":1e-07,"large":1e+300,"zero":-0.0,"text":"žluťoučký 🎧 \u0000\n","deep":[[{"k":[null,true,false]}]],"empty":{},"none":[],"z":1,"a":2}"#;
    let inputs = object(text);
    let echo = TransformJob { inputs: inputs.clone(), ..returning("inputs") };
    let output = pool.transform(echo, None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value.to_string(), Value::Object(inputs).to_string());
    let sum = TransformJob {
        inputs: object(r#"{"n": 18446744073709551616}"#),
        ..returning("inputs['n'] * inputs['n'] + 1")
    };
    let output = pool.transform(sum, None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(output.value.to_string(), "340282366920938463463374607431768211457");
    let tuple = pool.transform(returning("(1, (2,))"), None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!(tuple.value.to_string(), "[1,[2]]");
}

#[tokio::test]
async fn what_json_cannot_hold_is_named() {
    let pool = pool(1);
    for (expression, message) in [
        ("{'a': {1, 2}}", r#"the result["a"] is a `set`, which has no JSON form"#),
        ("[float('nan')]", "the result[0] is a `float('nan')`, which has no JSON form"),
        ("float('inf')", "the result is a `float('inf')`, which has no JSON form"),
        ("{1: 2}", "a key of the result is a `int`, which has no JSON form"),
        ("b'x'", "the result is a `bytes`, which has no JSON form"),
        ("context", "the result is a `Context`, which has no JSON form"),
        ("len", "the result is a `builtin_function_or_method`, which has no JSON form"),
    ] {
        let error = pool.transform(returning(expression), None, &JobLimits::DEFAULT).await.unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let state =
        with_state("def transform(inputs, context, state):\n    await state.set('k', {1})\n", "{}", "{}");
    let error = pool.transform(state, Some(&Memory::default()), &JobLimits::DEFAULT).await.unwrap_err();
    assert_eq!(error.to_string(), "the state value `k` is a `set`, which has no JSON form");
}

#[tokio::test]
async fn an_exception_has_its_place_in_the_code() {
    let code = "\
def helper(row):
    return row['missing']

def transform(inputs, context, state):
    return {'x': helper({})}
";
    let error = pool(1).transform(job(code), None, &JobLimits::DEFAULT).await.unwrap_err();
    assert_eq!(error.kind(), "KeyError");
    let range = error.range().unwrap();
    assert_eq!((range.start.line, range.start.column), (2, 12));
    let code = stave_diag::Embedded::verbatim(code, stave_diag::SourceId(0), 100);
    let span = range.span(&code);
    assert_eq!(&code.text()[span.start as usize - 100..span.end as usize - 100], "row['missing']");
}

#[tokio::test]
async fn printed_text_is_kept_beside_the_result() {
    let code =
        "def transform(inputs, context, state):\n    print('one', 2)\n    print('three')\n    return 4\n";
    let output = pool(1).transform(job(code), None, &JobLimits::DEFAULT).await.unwrap();
    assert_eq!((output.printed.as_str(), output.value), ("one 2\nthree\n", Value::from(4)));
}

#[tokio::test]
async fn a_job_leaves_nothing_for_the_next() {
    let pool = pool(1);
    let code =
        "SEEN = []\n\ndef transform(inputs, context, state):\n    SEEN.append(1)\n    return len(SEEN)\n";
    for _ in 0..3 {
        let output = pool.transform(job(code), None, &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(output.value, Value::from(1));
    }
}

#[tokio::test]
async fn a_write_that_nothing_awaits_still_happens() {
    let (pool, memory) = (pool(1), Memory::default());
    let before_an_await = "\
def transform(inputs, context, state):
    state.set('first', 1)
    return await state.get('first', 0)
";
    let at_the_end = "\
def transform(inputs, context, state):
    state.get('nobody')
    state.set('second', 2)
    state.delete('first')
    return 0
";
    for (code, expected) in [(before_an_await, 1), (at_the_end, 0)] {
        let job = with_state(code, "{}", "{}");
        let output = pool.transform(job, Some(&memory), &JobLimits::DEFAULT).await.unwrap();
        assert_eq!(output.value, Value::from(expected));
    }
    assert_eq!(memory.get("second").await.unwrap(), Some(Value::from(2)));
    assert_eq!(memory.get("first").await.unwrap(), None);
}
