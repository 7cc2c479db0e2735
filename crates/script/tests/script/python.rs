//! What the checker says about code transforms.

use crate::findings::transform;

fn wrapped(body: &str) -> String {
    format!("def transform(inputs, context, state):\n    {body}\n    return {{}}\n")
}

#[track_caller]
fn clean(code: &str) {
    assert_eq!(transform(code), Vec::<String>::new(), "{code}");
}

#[track_caller]
fn finds(code: &str, expected: &[&str]) {
    assert_eq!(transform(code), expected, "{code}");
}

#[test]
fn the_specifications_examples_are_clean_but_for_their_missing_helper() {
    let example = "\
def transform(inputs, context, state):
    user_data = inputs['user_data']
    user_id = context.user_id
    history = await state.get('history', [])
    processed = complex_business_logic(user_data)
    history.append(processed)
    await state.set('history', history[-10:])
    return {
        'result': processed,
        'metadata': {'processed_at': context.event_time}
    }
";
    finds(example, &["5:17 `complex_business_logic` undefined-name"]);
    clean(&format!("def complex_business_logic(data):\n    return data\n\n{example}"));
}

#[test]
fn a_syntax_error_is_shown_where_it_is() {
    finds(
        "def transform(inputs, context, state):\n    for name in NAMES\n        pass\n",
        &["2:17 `NAMES` invalid-python"],
    );
    finds("def transform(inputs, context, state)\n    return {}\n", &["1:37 `)` invalid-python"]);
    finds("def transform(inputs, context, state):\n    return (1,\n", &["2:14 `,` invalid-python"]);
    finds("def transform(inputs, context, state):\n", &["1:38 `:` invalid-python"]);
    finds(
        "def transform(inputs, context, state):\n    x = 'open\n    return x\n",
        &["2:9 `'open` invalid-python"],
    );
}

#[test]
fn the_transform_function_is_there_once_with_three_parameters() {
    finds("transform = 42", &["1:1 `transform = 42` missing-transform-function"]);
    finds("\n# nothing\nX = 1\n", &["2:1 `# nothing` missing-transform-function"]);
    finds("", &["1:1 `` missing-transform-function"]);
    finds("class transform:\n    pass\n", &["1:7 `transform` missing-transform-function"]);
    finds(
        "def transform(inputs, context):\n    return {}\n",
        &["1:14 `(inputs, context)` wrong-transform-parameters"],
    );
    finds(
        "def transform(inputs, context, state, logger):\n    return {}\n",
        &["1:14 `(inputs, context, state, logger)` wrong-transform-parameters"],
    );
    finds(
        "def transform(*everything):\n    return {}\n",
        &["1:14 `(*everything)` wrong-transform-parameters"],
    );
    finds(
        "def transform(a, b, c):\n    return {}\ndef transform(a, b, c):\n    return {}\n",
        &["3:5 `transform` duplicate-transform-function"],
    );
    clean("async def transform(i, c, s=None):\n    return {}\n");
    clean("def transform(inputs, context, state): return {'y': inputs['x']}");
}

#[test]
fn only_definitions_and_constants_stand_outside_functions() {
    let with = |line: &str| format!("{line}\n\ndef transform(inputs, context, state):\n    return {{}}\n");
    for fine in [
        "import json",
        "from math import pi as PI\nTAU = 2 * PI",
        "\"\"\"Documentation.\"\"\"",
        "NAMES = ['age', 'tenure']\nFIRST = NAMES[0]",
        "LIMITS: dict = {'a': 1, **{'b': -2}}",
        "import re\nWORD = re.compile(r'\\w+')",
        "A, B = 1, 2",
        "SEEN = frozenset(['a'])",
        "class Point:\n    x: int = 0\n    def norm(self, scale=1):\n        return self.x * scale",
        "from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int = 0",
        "def helper(text, mark='!'):\n    return text + mark",
    ] {
        clean(&with(fine));
    }
    finds(&with("for i in range(3): pass"), &["1:1 `for i in range(3): pass` top-level-statement"]);
    finds(&with("print('loaded')"), &["1:1 `print('loaded')` top-level-statement"]);
    finds(&with("X = print('loaded')"), &["1:5 `print('loaded')` top-level-statement"]);
    finds(&with("X = [i for i in range(9)]"), &["1:5 `[i for i in range(9)]` top-level-statement"]);
    finds(&with("def f(x=print('loaded')):\n    return x"), &["1:9 `print('loaded')` top-level-statement"]);
    finds(&with("@print\ndef f(x):\n    return x"), &["1:1 `@print` top-level-statement"]);
    finds(&with("if True:\n    X = 1"), &["1:1 `if True:` top-level-statement"]);
    finds(&with("X = {}\nX['a'] = 1"), &["2:1 `X['a']` top-level-statement"]);
    finds(&with("while True: pass"), &["1:1 `while True: pass` top-level-statement"]);
}

#[test]
fn names_follow_pythons_scopes() {
    for fine in [
        "x = [y for y in inputs['a'] if y]",
        "x = {k: v for k, v in inputs.items()}",
        "x = sorted(inputs, key=lambda item: item[0])",
        "for i, (a, b) in enumerate([]): print(i, a, b)",
        "if (n := len(inputs)) > 1: print(n)",
        "x = [z := 1, z]",
        "total = 0\n    def add(n):\n        nonlocal total\n        total += n\n    add(1)",
        "try:\n        pass\n    except ValueError as error:\n        print(error)",
        "from math import sqrt\n    x = sqrt(2)",
        "x = later() if False else 1\n    def later(): return 1",
        "a, *rest = [1, 2]\n    print(a, rest)",
        "x: Unknown = 1",
        "x = f'{inputs[\"a\"]!r:>{len(inputs)}}'",
        "x = [row for page in inputs['p'] for row in page]",
        "größe = 1\n    print(größe)",
        "x = NotImplemented, Ellipsis, KeyError",
    ] {
        clean(&wrapped(fine));
    }
    finds(&wrapped("return reply['x']"), &["2:12 `reply` undefined-name"]);
    finds(&wrapped("x = [y for y in z]"), &["2:21 `z` undefined-name"]);
    finds(&wrapped("x = [y for y in []]\n    print(y)"), &["3:11 `y` undefined-name"]);
    finds(&wrapped("f = lambda a: a + b"), &["2:23 `b` undefined-name"]);
    finds(&wrapped("x = f'{missing}'"), &["2:12 `missing` undefined-name"]);
    finds(&wrapped("open('f')"), &["2:5 `open` undefined-name"]);
    finds(&wrapped("__import__('os')"), &["2:5 `__import__` undefined-name"]);
    finds(
        "def helper():\n    return inputs\n\ndef transform(inputs, context, state):\n    return helper()\n",
        &["2:12 `inputs` undefined-name"],
    );
    finds(
        "class Box:\n    SIZE = 1\n    def size(self):\n        return SIZE\n\ndef transform(a, b, c):\n    return Box().size()\n",
        &["4:16 `SIZE` undefined-name"],
    );
    finds(&wrapped("a = b = c\n    d"), &["2:13 `c` undefined-name", "3:5 `d` undefined-name"]);
}

#[test]
fn imports_come_from_what_the_interpreter_has() {
    finds(
        "import requests\nfrom random import choice\nimport json, csv\n\ndef transform(a, b, c):\n    import hashlib\n    return {}\n",
        &[
            "1:8 `requests` unavailable-import",
            "2:6 `random` unavailable-import",
            "3:14 `csv` unavailable-import",
            "6:12 `hashlib` unavailable-import",
        ],
    );
    finds(
        "import math\nimport os as system\nfrom functools import lru_cache\n\ndef transform(a, b, c):\n    return math.sqrt(2) + math.squareroot(2) + system.environ['X'] + lru_cache\n",
        &[
            "2:8 `os` unavailable-import",
            "3:23 `lru_cache` unavailable-import",
            "6:32 `squareroot` unavailable-import",
        ],
    );
    clean("import json\n\ndef transform(json, b, c):\n    return json.anything\n");
    finds(
        "from . import x\n\ndef transform(a, b, c):\n    return x\n",
        &["1:1 `from . import x` unavailable-import"],
    );
}

#[test]
fn syntax_that_does_not_run_is_found_before_the_run() {
    for (body, expected) in [
        ("yield 1", "2:5 `yield 1` unsupported-python"),
        ("del inputs['x']", "2:5 `del inputs['x']` unsupported-python"),
        ("match inputs:\n        case _: pass", "2:5 `match inputs:` unsupported-python"),
        ("async for x in []: pass", "2:5 `async for x in []: pass` unsupported-python"),
        ("x = 'a %s' % 1", "2:9 `'a %s' % 1` unsupported-python"),
        ("x = 2j", "2:9 `2j` unsupported-python"),
        ("class E(Exception): pass", "2:12 `(Exception)` unsupported-python"),
        ("type X = int", "2:5 `type X = int` unsupported-python"),
    ] {
        finds(&wrapped(body), &[expected]);
    }
    finds(
        "from math import *\n\ndef transform(a, b, c):\n    return {}\n",
        &["1:1 `from math import *` unsupported-python"],
    );
}

#[test]
fn statements_stand_where_python_lets_them() {
    for (body, expected) in [
        ("break", "2:5 `break` invalid-python"),
        ("for i in []:\n        def h(): continue", "3:18 `continue` invalid-python"),
        ("def h(a, a): return a", "2:14 `a` invalid-python"),
        ("h = lambda a, a: a", "2:19 `a` invalid-python"),
        ("nonlocal q\n    q = 1", "2:14 `q` invalid-python"),
        ("q = 1\n    global q", "3:12 `q` invalid-python"),
        ("*a = [1]", "2:5 `*a` invalid-python"),
    ] {
        finds(&wrapped(body), &[expected]);
    }
    for fine in [
        "for i in []:\n        if i: break\n        else: continue",
        "while True:\n        try:\n            break\n        finally:\n            pass",
        "global SEEN\n    SEEN = 1",
        "a, *b = [1, 2]",
    ] {
        clean(&wrapped(fine));
    }
}

#[test]
fn a_state_call_is_awaited() {
    for fine in [
        "x = await state.get('a')",
        "import asyncio\n    a, b = await asyncio.gather(state.get('a'), state.get('b'))",
        "import asyncio\n    calls = [state.get(k) for k in ['a', 'b']]\n    x = await asyncio.gather(*calls)",
        "call = state.get('a')\n    x = await call",
        "x = (await state.get('a', {}))['k']",
        "def read(k):\n        return state.get(k)\n    x = await read('a')",
    ] {
        clean(&wrapped(fine));
    }
    for (body, expected) in [
        ("state.set('a', 1)", "2:5 `state.set('a', 1)` unawaited-state-call"),
        ("x = state.get('a')", "2:9 `state.get('a')` unawaited-state-call"),
        ("x = len(state.get('a'))", "2:13 `state.get('a')` unawaited-state-call"),
        ("x = state.get('a')['k']", "2:9 `state.get('a')` unawaited-state-call"),
        ("return state.get('a')", "2:12 `state.get('a')` unawaited-state-call"),
        ("await state.put('a', 1)", "2:17 `put` unknown-state-method"),
        ("x = context['user_id']", "2:9 `context['user_id']` subscripted-context"),
    ] {
        finds(&wrapped(body), &[expected]);
    }
}

#[test]
fn too_deep_is_refused_without_a_crash() {
    for text in [
        format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("1{}", "+1".repeat(100_000)),
        format!("x{}", ".a".repeat(50_000)),
        format!("x{}", "()".repeat(50_000)),
        format!("x{}", "[0]".repeat(50_000)),
        format!("{}1", "not ".repeat(50_000)),
        format!("{}1", "-".repeat(50_000)),
        format!("{}1", "lambda: ".repeat(30_000)),
        format!("1{}", " if 1 else 1".repeat(20_000)),
        format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000)),
        format!("{}1{}", "((1)+".repeat(20_000), ")".repeat(20_000)),
        format!("{}x", "await ".repeat(30_000)),
        "f'{".repeat(5_000),
        format!("1{}", "**1".repeat(60_000)),
    ] {
        let found = transform(&wrapped(&format!("return {text}")));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("invalid-python"), "{found:?}");
    }
    let nested: String = (0..2_000).map(|depth| format!("{}if 1:\n", " ".repeat(depth))).collect();
    assert!(transform(&nested)[0].ends_with("invalid-python"));
}
