//! What people read: the message and the help of a finding of each kind.

use std::fmt::Write;

use stave_diag::Diagnostic;
use stave_script::{check_condition, check_template, check_transform};

use crate::findings::embedded;

fn told(out: &mut String, text: &str, diagnostics: &[Diagnostic]) {
    writeln!(out, "{text}").unwrap();
    for found in diagnostics {
        writeln!(out, "  {} {}: {}", found.severity.word(), found.code, found.message).unwrap();
        if let Some(help) = &found.help {
            writeln!(out, "    help: {help}").unwrap();
        }
    }
    out.push('\n');
}

#[test]
fn messages_name_the_thing_and_the_cure() {
    let mut out = String::new();
    for code in [
        "def transform(inputs, context, state)\n    return {}",
        "X = 1",
        "transform = 42",
        "def transform(inputs):\n    return {}",
        "def transform(*all):\n    return {}",
        "def transform(a, b, c):\n    return {}\ndef transform(a, b, c):\n    return {}",
        "print('x')\ndef transform(inputs, context, state):\n    return {}",
        "def transform(inputs, context, state):\n    return {'a': text, 'b': input, 'c': inputt, 'd': open('x')}",
        "import requests, maths\nfrom math import squart\ndef transform(inputs, context, state):\n    return {}",
        "def transform(inputs, context, state):\n    yield 1",
        "def transform(inputs, context, state):\n    await state.put('k', 1)\n    state.get('k')\n    return {'x': context['user']}",
    ] {
        let (_, embedded) = embedded(code);
        told(&mut out, code, &check_transform(&embedded, embedded.whole()).diagnostics);
    }
    for text in [
        "score >",
        "scor > 1",
        "hits > 1",
        "lenn(value) > 1",
        "value.append(1) == 1",
        "value.score > 1",
        "context['tier'] == 1",
        "(x := value) > 1",
        "len(value)",
    ] {
        let (_, embedded) = embedded(text);
        told(&mut out, text, &check_condition(&embedded, &["value", "score", "context"]).diagnostics);
    }
    for text in [
        "{{ query | }}",
        "{{ querry }} {{ nobody }}",
        "{{ query | uper }} {{ query | shout }}",
        "{% if query is defind %}{% endif %}",
        "{% include 'x' %}",
        "{% for x in query %}",
    ] {
        let (_, embedded) = embedded(text);
        told(&mut out, text, &check_template(&embedded, &["query", "context"]).diagnostics);
    }
    insta::assert_snapshot!(out);
}
