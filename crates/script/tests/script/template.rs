//! What the checker says about templates.

use stave_script::check_template;

use crate::findings::{embedded, template};

const SCOPE: &[&str] = &["customer_data", "history", "query", "items", "context"];

#[track_caller]
fn finds(text: &str, expected: &[&str]) {
    assert_eq!(template(text, SCOPE), expected, "{text}");
}

#[test]
fn ordinary_templates_are_clean() {
    for text in [
        "Age: {{ customer_data.age }}\n{% for msg in history %}\n- {{ msg.role }}: {{ msg.content }}\n{% endfor %}\n{{ query }}",
        "{% macro line(i, mark='*') %}{{ mark }} {{ i.title | trim }}{% endmacro %}{% for i in items if i.score > 0 %}{{ loop.index }}. {{ line(i) }}{{ \"\" if loop.last else \",\" }}{% else %}none{% endfor %}",
        "{% set ns = namespace(total=0) %}{% for i in items %}{% set ns.total = ns.total + 1 %}{% endfor %}{{ ns.total }}",
        "{% raw %}{{ not_a_variable }}{% endraw %}{# {{ nor_this }} #}",
        "{% set shown = items[:10] %}{% if shown %}{% set first = shown[0] %}{% endif %}{{ first }}",
        "{% if query is defined and query is not none %}{{ query | upper | default('x') }}{% endif %}",
        "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}",
        "{% for key, value in customer_data.items() %}{{ key }}={{ value }}{% endfor %}",
        "{{ items | selectattr('ok') | map(attribute='n') | join(', ') }}",
        "{{ range(3) | list }} {{ dict(a=1) }} {{ 'a' ~ query }}",
        "{% call(x) outer() %}{{ x }}{% endcall %}{% macro outer() %}{{ caller(1) }}{% endmacro %}",
        "{% set text %}{{ query }}{% endset %}{{ text }}",
        "{% filter upper %}{{ query }}{% endfilter %}{% do items.append(1) %}",
        "",
    ] {
        if text.contains("outer()") {
            // A macro used before it is defined is not bound.
            assert_eq!(template(text, SCOPE).len(), 1);
        } else {
            finds(text, &[]);
        }
    }
}

#[test]
fn every_unbound_variable_is_found_at_its_own_place() {
    finds(
        "- Age: {{ customer.age }}\n- {{ customer_data.age }}\n\nQuery: {{ querry }}",
        &["1:11 `customer` unknown-template-variable", "4:11 `querry` unknown-template-variable"],
    );
    finds(
        "{% for page in items %}{{ page }}{% endfor %}\nLast: {{ page }}",
        &["2:10 `page` unknown-template-variable"],
    );
    finds("{% for x in items %}{% set y = x %}{% endfor %}{{ y }}", &["1:51 `y` unknown-template-variable"]);
    finds("{{ late }}{% set late = 1 %}", &["1:4 `late` unknown-template-variable"]);
    finds("{{ loop.index }}", &["1:4 `loop` unknown-template-variable"]);
    finds("{% for x in x %}{% endfor %}", &["1:13 `x` unknown-template-variable"]);
    finds(
        "{% macro m(a) %}{{ a }}{{ b }}{% endmacro %}{{ a }}",
        &["1:27 `b` unknown-template-variable", "1:48 `a` unknown-template-variable"],
    );
    finds("{{ items[position].name }}", &["1:10 `position` unknown-template-variable"]);
    finds("{{ shout(query) }}", &["1:4 `shout` unknown-template-variable"]);
    finds("{% if nobody %}{% endif %}", &["1:7 `nobody` unknown-template-variable"]);
}

#[test]
fn unknown_filters_and_tests_are_found() {
    finds("{{ query | shout }}", &["1:12 `shout` unknown-filter"]);
    finds("{{ query | trim | shout(1) }}", &["1:19 `shout` unknown-filter"]);
    finds("{% if query is filled %}{% endif %}", &["1:16 `filled` unknown-test"]);
    finds("{% filter shout %}x{% endfilter %}", &["1:11 `shout` unknown-filter"]);
}

#[test]
fn other_templates_are_refused() {
    finds("a\n{% include \"footer.txt\" %}\n{{ query }}", &["2:4 `include \"footer.txt\"` template-include"]);
    for text in [
        "{% extends 'base' %}",
        "{% import 'a' as a %}{{ a.b }}",
        "{% from 'a' import b %}{{ b }}",
        "{% block x %}{{ query }}{% endblock %}",
    ] {
        let found = template(text, SCOPE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("template-include"), "{found:?}");
    }
}

#[test]
fn a_syntax_error_is_shown_where_it_is() {
    for (text, line) in [
        ("a\n{{ customer_data.tenure | }} months", 2),
        ("{% if query %}\nx\n{% endif %}\n{% endfor %}\n", 4),
        ("about: {{ query }} ({{ customer_data..score }})", 1),
        ("{{ query", 1),
    ] {
        let found = template(text, SCOPE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(&format!("{line}:")), "{found:?}");
        assert!(found[0].ends_with("invalid-template"), "{found:?}");
    }
}

#[test]
fn paths_from_the_scope_are_listed() {
    let (sources, embedded) = embedded(
        "{{ customer_data.age }}{{ customer_data['tenure'] }}{{ items[0].name }}{% for m in history %}{{ m.role }}{% endfor %}{{ context.user_id | upper }}{{ query.strip() }}",
    );
    let check = check_template(&embedded, SCOPE);
    let paths: Vec<_> = check
        .paths
        .iter()
        .map(|used| format!("{} `{}`", used.path.join("."), sources.slice(used.span)))
        .collect();
    assert_eq!(
        paths,
        [
            "customer_data.age `customer_data.age`",
            "customer_data.tenure `customer_data['tenure']`",
            "items `items`",
            "history `history`",
            "context.user_id `context.user_id`",
            "query `query`",
        ]
    );
}

#[test]
fn too_deep_is_refused_without_a_crash() {
    for inner in [
        format!("{}1{}", "(".repeat(50_000), ")".repeat(50_000)),
        format!("1{}", "+1".repeat(100_000)),
        format!("query{}", ".a".repeat(50_000)),
        format!("query{}", "|upper".repeat(50_000)),
        format!("{}1", "not ".repeat(50_000)),
        format!("{}1", "-".repeat(50_000)),
        format!("1{}", " if 1 else 1".repeat(50_000)),
        format!("query{}", "()".repeat(50_000)),
        format!("query{}", " is defined".repeat(50_000)),
        format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000)),
    ] {
        let found = template(&format!("{{{{ {inner} }}}}"), SCOPE);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("invalid-template"), "{found:?}");
    }
    for text in [
        "{% if 1 %}".repeat(20_000),
        format!("{{% if 1 %}}{}{{% endif %}}", "{% elif 1 %}".repeat(20_000)),
        "{% for x in items %}".repeat(20_000),
    ] {
        assert!(template(&text, SCOPE)[0].ends_with("invalid-template"));
    }
}
