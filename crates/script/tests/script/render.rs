//! What templates print.

use stave_canon::{Object, Value};
use stave_script::{RenderError, RenderLimits, Renderer, render};

fn object(text: &str) -> Object {
    match stave_canon::parse(text).unwrap() {
        Value::Object(object) => object,
        other => unreachable!("not an object: {other}"),
    }
}

fn rendered(template: &str, context: &str) -> Result<String, RenderError> {
    render(template, &object(context), RenderLimits::default())
}

#[test]
fn values_print_as_in_jinja2_and_containers_as_json() {
    let context = r#"{"n": 1, "f": 1.0, "tiny": 1e-7, "huge": 1e16, "t": true, "no": null, "s": "é", "o": {"b": 1, "a": [true, null, 1.5]}, "big": 123456789012345678901234567890123456789012345678901234567890, "mid": 18446744073709551616}"#;
    for (template, expected) in [
        ("{{ n }}", "1"),
        ("{{ f }}", "1.0"),
        ("{{ tiny }} {{ huge }}", "1e-07 1e+16"),
        ("{{ t }} {{ no }} {{ s }}", "True None é"),
        ("{{ o }}", r#"{"b":1,"a":[true,null,1.5]}"#),
        ("{{ o.a }}", "[true,null,1.5]"),
        (
            "{{ big }} {{ mid }}",
            "123456789012345678901234567890123456789012345678901234567890 18446744073709551616",
        ),
        ("{{ mid + 1 }}", "18446744073709551617"),
        ("{{ [big] }}", "[123456789012345678901234567890123456789012345678901234567890]"),
        ("{{ n / 2 }} {{ 7 // 2 }}", "0.5 3"),
        ("{{ o.items() | list }}", r#"[["b",1],["a",[true,null,1.5]]]"#),
        ("{{ '<b>' }}", "<b>"),
        ("{{ s.upper() }} {{ 'a,b'.split(',') | length }}", "É 2"),
        ("a\n{% if t %}\nb\n{% endif %}\n", "a\n\nb\n"),
        ("{{ absent if false }}", ""),
    ] {
        assert_eq!(rendered(template, context).unwrap(), expected, "{template}");
    }
}

#[test]
fn filters_of_jinja2_work_as_there() {
    let context = r#"{"text": "the quick brown fox", "n": 1500000}"#;
    for (template, expected) in [
        ("{{ text | truncate(9) }}", "the..."),
        ("{{ text | truncate(9, true) }}", "the qu..."),
        ("{{ text | truncate(length=9, killwords=True, end='', leeway=0) }}", "the quick"),
        ("{{ text | truncate(15) }}", "the quick brown fox"),
        ("{{ text | wordcount }}", "4"),
        ("[{{ 'ab' | center(5) }}][{{ 'abc' | center(6) }}]", "[  ab ][ abc  ]"),
        ("{{ '<b>x</b> y' | striptags }}", "x y"),
        ("{{ n | filesizeformat }}", "1.5 MB"),
        ("{{ 'a b&c' | urlencode }}", "a%20b%26c"),
        ("{% set sep = joiner() %}{% for x in [1, 2] %}{{ sep() }}{{ x }}{% endfor %}", "1, 2"),
    ] {
        assert_eq!(rendered(template, context).unwrap(), expected, "{template}");
    }
    assert!(rendered("{{ text | truncate(2) }}", context).is_err());
    assert!(rendered("{{ text | center(1000000000) }}", context).is_err());
}

#[test]
fn the_specifications_template_renders() {
    let template = "\
Customer Data:
- Age: {{ customer_data.age }}
- Tenure: {{ customer_data.tenure }} months

Conversation History:
{% for msg in history %}
- {{ msg.role }}: {{ msg.content }}
{% endfor %}

Customer Query: {{ query }}
";
    let context = r#"{"customer_data": {"age": 41, "tenure": 18}, "history": [{"role": "user", "content": "hi"}], "query": "When?"}"#;
    assert_eq!(
        rendered(template, context).unwrap(),
        "Customer Data:\n- Age: 41\n- Tenure: 18 months\n\nConversation History:\n\n- user: hi\n\n\nCustomer Query: When?"
    );
}

#[test]
fn an_undefined_value_is_an_error_unless_it_is_only_tested() {
    assert_eq!(
        rendered("{% if x %}a{% else %}b{% endif %}{{ x is defined }}{{ x | default('d') }}", "{}").unwrap(),
        "bFalsed"
    );
    let error = rendered("ok\n{{ customer.age }}", r#"{"customer": {}}"#).unwrap_err();
    assert_eq!(error.range, Some(6..18));
    assert!(error.message.contains("undefined"), "{error}");
}

#[test]
fn nothing_runs_for_ever_or_prints_without_end() {
    let limits = RenderLimits { fuel: 10_000, output_bytes: 1_000 };
    let none = Object::new();
    for template in [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{{ range(1000000000) | list }}",
        "{{ 'a' * 1000000000 }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for a in range(2000) %}x{% endfor %}",
        "{{ 10 ** 1000000 }}",
    ] {
        assert!(render(template, &none, limits).is_err(), "{template}");
    }
    let error = render("{{ 'a' * 2000 }}", &none, limits).unwrap_err();
    assert_eq!(error.message, "the text is longer than 1000 bytes");
}

#[test]
fn no_other_template_can_be_reached() {
    let renderer = Renderer::new(RenderLimits::default());
    renderer.render("secret", &Object::new()).unwrap();
    for template in ["{% include 'secret' %}", "{% extends 'secret' %}", "{% import 'secret' as s %}"] {
        assert!(renderer.render(template, &Object::new()).is_err(), "{template}");
    }
}

#[test]
fn a_renderer_keeps_rendering_past_its_cache() {
    let renderer = Renderer::new(RenderLimits::default());
    for round in 0..600 {
        let template = format!("{round}: {{{{ x }}}}");
        let context = object(r#"{"x": "y"}"#);
        assert_eq!(renderer.render(&template, &context).unwrap(), format!("{round}: y"));
        assert_eq!(renderer.render(&template, &context).unwrap(), format!("{round}: y"));
    }
}
