//! Laws of bodies, positions and splices, over made-up bodies of all four interfaces.

#![expect(clippy::unwrap_used, reason = "made-up bodies are readable")]

use proptest::prelude::*;
use stave_block::{
    CachePlan, DataScope, Destination, GateAction, GateVerdict, MarkedRules, PlanRequest, Planner,
    PlannerSettings, SensitivityPolicy, Surface, Ttl, refusal,
};
use stave_canon::{CountingIds, FixedClock, Timestamp, Value, parse};
use stave_lower::{
    RewritePolicy, Spliced, detect_surface, govern_body, read_wire, request_to_block, rewrite_body,
    splice_plan,
};

/// A JSON string with escapes, spaced and spelled in ways that a writer of JSON would not choose.
fn string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,20}".prop_map(|text| format!("\"{text}\"")),
        Just(r#""a\u00e9\n\"x\" \/ \ud83d\ude00""#.to_owned()),
        Just("\"\"".to_owned()),
        Just("\" \\n \"".to_owned()),
        ".{0,12}".prop_map(|text| Value::from(text).to_string()),
    ]
}

fn mark() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        1 => Just(r#", "cache_control": {"type": "ephemeral"}"#.to_owned()),
        1 => Just(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#.to_owned()),
        1 => Just(r#","cache_control":null"#.to_owned()),
    ]
}

fn anthropic_part() -> impl Strategy<Value = String> {
    (string(), mark(), 0..7_u8, any::<bool>()).prop_map(|(text, mark, kind, first)| match kind {
        0 => format!(r#"{{"type":"thinking","thinking":{text},"signature":"s"{mark}}}"#),
        1 => format!(r#"{{"type":"tool_use","id":"a","name":"n","input":{{"x":1.50e2,"q":{text}}}{mark} }}"#),
        2 => format!(
            r#"{{"type":"tool_result","tool_use_id":"a","content":[{{"type":"text","text":{text}{mark}}}]}}"#
        ),
        3 => format!(r#"{{"type":"image","source":{{"type":"url","url":{text}}}{mark}}}"#),
        4 if first && mark.len() > 3 => format!(r#"{{{} , "type":"text","text":{text}}}"#, &mark[1..]),
        _ => format!(r#"{{ "type":"text","text":{text}{mark} }}"#),
    })
}

fn anthropic() -> impl Strategy<Value = String> {
    let content = || {
        prop_oneof![
            string(),
            prop::collection::vec(anthropic_part(), 0..4).prop_map(|parts| format!("[{}]", parts.join(", ")))
        ]
    };
    let tool = (string(), mark()).prop_map(|(text, mark)| {
        format!(r#"{{"name":"t","description":{text},"input_schema":{{"b":1.0,"a":2}}{mark}}}"#)
    });
    (
        prop::collection::vec(tool, 0..3),
        prop::option::of(content()),
        prop::collection::vec((any::<bool>(), content()), 0..5),
        mark(),
    )
        .prop_map(|(tools, system, messages, mark)| {
            let system = system.map_or(String::new(), |system| format!(r#""system" : {system},"#));
            let messages: Vec<String> = messages
                .into_iter()
                .map(|(user, content)| {
                    let role = if user { "user" } else { "assistant" };
                    format!(r#"{{"role":"{role}", "content":{content}}}"#)
                })
                .collect();
            format!(
                " {{ \"model\":\"claude-opus-5\",{system} \"max_tokens\":1e3,\"tools\":[{}],\n\"messages\":[{}]{mark}}}",
                tools.join(","),
                messages.join(" ,")
            )
        })
}

fn other() -> impl Strategy<Value = String> {
    (0..3_u8, prop::collection::vec(string(), 1..4)).prop_map(|(surface, texts)| {
        let list = |make: &dyn Fn(&String) -> String| texts.iter().map(make).collect::<Vec<_>>().join(",");
        match surface {
            0 => format!(
                r#"{{"messages":[{},{{"role":"tool","tool_call_id":"c","content":"r"}}],"n":1,"model":"gpt-5"}}"#,
                list(&|text| format!(r#"{{"role":"user","content":{text}}}"#))
            ),
            1 => format!(
                r#"{{"input":[{}],"instructions":{},"model":"gpt-5"}}"#,
                list(&|text| format!(r#"{{"role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#)),
                texts[0]
            ),
            _ => format!(
                r#"{{"contents":[{}],"systemInstruction":{{"parts":[{{"text":{}}}]}}}}"#,
                list(&|text| format!(r#"{{"role":"model","parts":[{{"text":{text}}}]}}"#)),
                texts[0]
            ),
        }
    })
}

fn body() -> impl Strategy<Value = String> {
    prop_oneof![3 => anthropic(), 1 => other()]
}

fn without_marks(value: Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(without_marks).collect()),
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, value)| key != "cache_control" || value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_marks(value))).collect())
        }
        other => other,
    }
}

/// The body as the model sees it: without marks, and bare strings as lists of one text.
fn visible(body: &str) -> Value {
    let mut value = without_marks(parse(body).unwrap());
    let listed = |content: &mut Value| {
        if let Value::String(text) = content {
            let part = [("type", Value::from("text")), ("text", Value::from(text.as_str()))];
            *content = Value::Array(vec![Value::from_iter(part)]);
        }
    };
    if let Some(object) = value.as_object_mut() {
        if let Some(system) = object.get_mut("system") {
            listed(system);
        }
        if let Some(Value::Array(messages)) = object.get_mut("messages") {
            for message in messages {
                if let Some(content) = message.as_object_mut().and_then(|message| message.get_mut("content"))
                {
                    listed(content);
                }
            }
        }
    }
    value
}

fn restored(spliced: &Spliced, original: &str) -> String {
    Spliced::new(&spliced.body, spliced.inverse(original)).body
}

proptest! {
    #[test]
    fn blocks_cover_their_bytes_and_no_splice_is_the_identity(body in body()) {
        let wire = read_wire(&body, None).unwrap();
        for position in &wire.positions {
            prop_assert!(parse(&body[position.range.clone()]).is_ok());
        }
        prop_assert_eq!(Spliced::new(&body, Vec::new()).body, body.clone());
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        let blocks = request_to_block(&body, None, None, &CountingIds::new(), &clock).unwrap();
        let covered: usize = blocks.places.iter().map(|place| place.positions.len()).sum();
        prop_assert_eq!(covered, wire.positions.len());
        prop_assert_eq!(blocks.places.len(), blocks.prompt.blocks.len());
    }

    #[test]
    fn any_marks_can_be_taken_back_and_change_nothing_that_the_model_sees(
        body in body(), wanted in prop::collection::vec(any::<prop::sample::Index>(), 0..4), long in 0..4_usize,
    ) {
        let wire = read_wire(&body, None).unwrap();
        let markable: Vec<usize> =
            (0..wire.positions.len()).filter(|index| wire.positions[*index].markable).collect();
        let mut at: Vec<usize> = wanted
            .iter()
            .filter(|_| !markable.is_empty())
            .map(|index| markable[index.index(markable.len())])
            .collect();
        at.sort_unstable();
        at.dedup();
        let ttl = |index: usize| if index < long { Ttl::Long } else { Ttl::Short };
        let marks: Vec<(usize, Ttl)> =
            at.into_iter().enumerate().map(|(index, at)| (at, ttl(index))).collect();
        let mut plan = CachePlan::as_sent(&wire);
        plan.marks = marks;
        let spliced = splice_plan(&body, &wire, &plan);
        prop_assert_eq!(restored(&spliced, &body), body.clone());
        prop_assert_eq!(visible(&spliced.body), visible(&body));
        // What was planned is what a reader of the result finds, and no prefix has changed.
        let again = read_wire(&spliced.body, Some(wire.surface)).unwrap();
        prop_assert_eq!(again.client_marks(), plan.marks);
        let prefixes = |wire: &stave_block::WirePrompt| {
            wire.positions.iter().map(|position| position.prefix).collect::<Vec<_>>()
        };
        prop_assert_eq!(prefixes(&again), prefixes(&wire));
    }

    #[test]
    fn a_planned_request_is_never_refused(bodies in prop::collection::vec(anthropic(), 1..6)) {
        let settings = PlannerSettings { bytes_per_token: 0.01, ..PlannerSettings::default() };
        let mut planner = Planner::new(settings);
        for (index, body) in bodies.iter().enumerate() {
            let wire = read_wire(body, None).unwrap();
            let request = PlanRequest { wire: &wire, body, session: None, now: index as f64 * 10.0 };
            let plan = planner.plan(&request);
            let spliced = splice_plan(body, &wire, &plan);
            let again = read_wire(&spliced.body, Some(Surface::AnthropicMessages)).unwrap();
            let rules = MarkedRules::anthropic();
            prop_assert_eq!(refusal(&again, &again.client_marks(), rules), None);
            let count = again.client_marks().len() + again.surplus_marks.len();
            prop_assert!(count <= rules.marks);
        }
    }

    #[test]
    fn rewrites_can_be_taken_back(body in body()) {
        let wire = read_wire(&body, None).unwrap();
        let policy = RewritePolicy { move_volatile: true, order_tools: true };
        let spliced = rewrite_body(&body, &wire, policy);
        prop_assert_eq!(restored(&spliced, &body), body.clone());
        prop_assert!(parse(&spliced.body).is_ok());
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}|[\\[\\]{}\",:0-9a-z\\\\ ]{0,40}") {
        let _ = read_wire(&text, None);
        let quoted = format!("{{\"messages\":[{text}]}}");
        for surface in Surface::ALL {
            let _ = read_wire(&quoted, Some(surface));
        }
        prop_assert_eq!(parse(&text).is_ok() || read_wire(&text, None).is_err(), true);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// What a fuzzer does: bytes of a body taken out, doubled and put elsewhere.
    #[test]
    fn broken_bodies_are_refused_or_survive_plans_and_rewrites(
        body in body(), cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, 0..3_u8), 1..4),
    ) {
        let mut body = body;
        for (at, length, what) in cuts {
            let floor = |mut at: usize| { while !body.is_char_boundary(at) { at -= 1; } at };
            let start = floor(at.index(body.len() + 1));
            let end = floor((start + length).min(body.len()));
            let piece = body[start..end].to_owned();
            match what {
                0 => body.replace_range(start..end, ""),
                1 => body.insert_str(start, &piece),
                _ => body = format!("{}{piece}", &body[..start]) + &body[end..],
            }
        }
        for surface in Surface::ALL.into_iter().map(Some).chain([None]) {
            let Ok(wire) = read_wire(&body, surface) else { continue };
            let mut planner =
                Planner::new(PlannerSettings { bytes_per_token: 0.001, ..PlannerSettings::default() });
            for now in [0.0, 10.0] {
                let plan = planner.plan(&PlanRequest { wire: &wire, body: &body, session: None, now });
                let spliced = splice_plan(&body, &wire, &plan);
                prop_assert_eq!(restored(&spliced, &body), body.clone());
                let again = read_wire(&spliced.body, Some(wire.surface)).unwrap();
                for (before, after) in wire.positions.iter().zip(&again.positions) {
                    prop_assert_eq!(before.prefix, after.prefix);
                }
                if wire.surface == Surface::AnthropicMessages {
                    let marks = again.client_marks();
                    prop_assert_eq!(refusal(&again, &marks, MarkedRules::anthropic()), None);
                    prop_assert!(marks.len() + again.surplus_marks.len() <= MarkedRules::anthropic().marks);
                }
            }
            let policy = RewritePolicy { move_volatile: true, order_tools: true };
            let rewritten = rewrite_body(&body, &wire, policy);
            prop_assert_eq!(restored(&rewritten, &body), body.clone());
            let scope = DataScope::new("a");
            let governed =
                govern_body(&body, &wire, &SensitivityPolicy::default(), &scope, Destination::External);
            // Half a surrogate pair is left as it is; canonical JSON has no such thing.
            prop_assert!(parse(&body).is_err() || parse(&governed.spliced.body).is_ok());
        }
    }
}

#[test]
fn marks_are_in_wire_order_also_when_one_stands_behind_the_automatic_one() {
    // A block of an unknown kind can hold a mark, and is not what an automatic mark would be put on.
    let body = r#"{"model":"claude-opus-5","max_tokens":1,"tools":[{"name":"t","input_schema":{}}],
        "messages":[{"role":"user","content":[{"kind":"new","cache_control":{"type":"ephemeral"}}]}],
        "cache_control":{"type":"ephemeral","ttl":"1h"}}"#;
    let wire = read_wire(body, Some(Surface::AnthropicMessages)).unwrap();
    assert_eq!(wire.client_marks(), [(0, Ttl::Long), (1, Ttl::Short)]);
    assert_eq!(refusal(&wire, &wire.client_marks(), MarkedRules::anthropic()), None);
}

#[test]
fn surfaces_are_told_apart() {
    for (body, surface) in [
        (
            r#"{"model":"claude-opus-5","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}"#,
            Surface::AnthropicMessages,
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}"#,
            Surface::AnthropicMessages,
        ),
        (
            r#"{"model":"m","messages":[],"tools":[{"name":"t","input_schema":{}}]}"#,
            Surface::AnthropicMessages,
        ),
        (r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}"#, Surface::OpenAiChat),
        (r#"{"model":"claude-opus-5","messages":[{"role":"system","content":"s"}]}"#, Surface::OpenAiChat),
        (r#"{"model":"m","input":"hi"}"#, Surface::OpenAiResponses),
        (r#"{"contents":[{"parts":[{"text":"hi"}]}]}"#, Surface::GeminiGenerateContent),
    ] {
        assert_eq!(detect_surface(body).unwrap(), surface, "{body}");
    }
    assert!(detect_surface("{}").is_err());
    assert!(detect_surface("[]").is_err());
}

#[test]
fn secrets_are_redacted_in_place_refused_or_routed_and_always_recorded() {
    let body = r#"{"model":"claude-opus-5","messages":[{"role":"user","content":"line\nAKIAIOSFODNN7EXAMPLE and more"}]}"#;
    let wire = read_wire(body, None).unwrap();
    let acme = DataScope::new("acme");
    let govern = |restricted: GateAction, destination: Destination<'_>| {
        let policy = SensitivityPolicy { restricted, ..SensitivityPolicy::default() };
        govern_body(body, &wire, &policy, &acme, destination)
    };
    let redacted = govern(GateAction::Redact, Destination::External);
    assert_eq!(redacted.verdict, GateVerdict::Send);
    assert!(redacted.spliced.body.contains(r#""line\n[redacted aws_access_key] and more""#));
    assert_eq!(redacted.records.len(), 1);
    assert_eq!(govern(GateAction::Refuse, Destination::External).verdict, GateVerdict::Refuse);
    let routed = govern(GateAction::Route("local".to_owned()), Destination::External);
    assert_eq!(routed.verdict, GateVerdict::Route("local".to_owned()));
    let inside = govern(GateAction::Refuse, Destination::Within(&acme));
    assert_eq!((inside.verdict, inside.records.len()), (GateVerdict::Send, 0));
    assert_eq!(inside.spliced.body, body);
}

#[test]
fn clocks_move_to_the_end_and_tools_take_one_order() {
    let body = r#"{"system":"Now 2026-11-15T17:48:01Z.","tools":[{"name":"mcp__b","input_schema":{}},{"name":"a","input_schema":{}}],"messages":[{"role":"user","content":"hi"}]}"#;
    let wire = read_wire(body, None).unwrap();
    assert_eq!(rewrite_body(body, &wire, RewritePolicy::default()).body, body);
    let policy = RewritePolicy { move_volatile: true, order_tools: true };
    let rewritten = rewrite_body(body, &wire, policy).body;
    let expected = r#"{"system":"Now [value 1 below].","tools":[{"name":"a","input_schema":{}},{"name":"mcp__b","input_schema":{}}],"messages":[{"role":"user","content":"hi\n\n[Values the instructions refer to: value 1: 2026-11-15T17:48:01Z]"}]}"#;
    assert_eq!(rewritten, expected);
}

#[test]
fn parts_of_a_message_become_the_blocks_that_they_are() {
    let blocks = |body: &str| {
        let clock = FixedClock(Timestamp::UNIX_EPOCH);
        let blocks = request_to_block(body, None, None, &CountingIds::new(), &clock).unwrap();
        let rows = blocks.prompt.blocks.iter().zip(&blocks.places);
        rows.map(|(block, place)| {
            let text = if place.plain { block.content.as_str() } else { "-" };
            format!("{} {} {} {text}", block.role, block.content_type, block.provenance)
        })
        .collect::<Vec<_>>()
    };
    let anthropic = r#"{"model":"claude-opus-5","messages":[
        {"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"a"},{"type":"text","text":""},
            {"type":"text","text":"b"},{"type":"document","source":{"type":"text","data":"d"}},{"type":"text","text":"c"}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
            {"type":"server_tool_use","id":"1","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"1","content":[]}]}]}"#;
    assert_eq!(
        blocks(anthropic),
        [
            "user text user a\nb",
            "user document retrieval -",
            "user text user c",
            "assistant thinking developer -",
            "assistant text developer -",
            "tool tool_result tool -",
        ]
    );
    let chat = r#"{"model":"gpt-5","response_format":{"type":"json_schema"},"tools":[{"type":"function","function":{"name":"f"}}],
        "messages":[{"role":"developer","content":"rules"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]},
        {"role":"assistant","content":null,"refusal":"no","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"system","content":"late"},{"role":"function","name":"f","content":"r"}]}"#;
    assert_eq!(
        blocks(chat),
        [
            "system text developer rules",
            "system tool_schema system -",
            "system structured_output system -",
            "user image user -",
            "assistant text developer no",
            "assistant text developer -",
            "system text system late",
            "tool tool_result tool -",
        ]
    );
}
