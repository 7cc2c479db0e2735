//! Whatever the shape of a body and wherever a secret is in it: a body that passes the gate does not carry it.

use proptest::prelude::*;
use stave_block::{DataScope, Destination, GateVerdict, SensitivityPolicy, Surface};
use stave_canon::parse;
use stave_lower::{govern_body, read_wire};

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// The secret with some of its characters escaped.
fn escaped(mask: u32) -> String {
    let letters = SECRET.chars().enumerate();
    letters
        .map(|(index, letter)| match mask >> index & 1 {
            0 => letter.to_string(),
            _ => format!("\\u{:04x}", u32::from(letter)),
        })
        .collect()
}

fn name() -> impl Strategy<Value = String> {
    let known = [
        "id",
        "type",
        "role",
        "name",
        "content",
        "Content",
        "text",
        "input",
        "metadata",
        "user",
        "stop",
        "system",
        "instructions",
        "prediction",
        "variables",
        "arguments",
        "cache_control",
        "description",
        "parameters",
        "url",
    ];
    prop_oneof![prop::sample::select(known.to_vec()).prop_map(str::to_owned), "[A-Za-z_]{1,8}"]
}

/// A value with the secret in it.
fn planted() -> impl Strategy<Value = String> {
    let secret = (any::<u32>(), prop::sample::select(&["", " ", "key: ", "\\n"][..]), any::<bool>());
    let leaf = secret.prop_map(|(mask, before, is_key)| {
        let text = format!("{before}{} end", escaped(mask));
        if is_key { format!(r#"{{"{text}":1}}"#) } else { format!(r#""{text}""#) }
    });
    leaf.prop_recursive(5, 16, 1, |inner| {
        prop_oneof![
            (name(), inner.clone()).prop_map(|(name, value)| format!(r#"{{"{name}":{value}}}"#)),
            inner.clone().prop_map(|value| format!("[{value},2]")),
            inner.prop_map(|value| format!(r#"{{"type":"text","text":{value}}}"#)),
        ]
    })
}

fn body() -> impl Strategy<Value = String> {
    (planted(), name(), 0..6_u8).prop_map(|(value, name, place)| match place {
        0 => format!(r#"{{"model":"m","messages":[{{"role":"user","content":{value}}}]}}"#),
        1 => {
            format!(r#"{{"model":"m","messages":[{{"role":"assistant","content":"hi","{name}":{value}}}]}}"#)
        }
        2 => format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{{"{name}":{value}}}]}}]}}"#),
        3 => format!(r#"{{"model":"m","messages":[],"tools":[{{"name":"t","{name}_":{value}}}]}}"#),
        4 => format!(r#"{{"model":"m","input":[{value}],"{name}_":0}}"#),
        _ => format!(r#"{{"model":"m","messages":[],"{name}":{value}}}"#),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_body_carries_a_secret_past_the_gate(body in body()) {
        for surface in [Surface::OpenAiChat, Surface::OpenAiResponses, Surface::AnthropicMessages] {
            let Ok(wire) = read_wire(&body, Some(surface)) else { continue };
            let policy = SensitivityPolicy::default();
            let governed = govern_body(&body, &wire, &policy, &DataScope::new("a"), Destination::External);
            prop_assert!(!governed.records.is_empty());
            if governed.verdict == GateVerdict::Send {
                let sent = parse(&governed.spliced.body).map(|value| value.to_string());
                prop_assert!(sent.as_ref().is_ok_and(|sent| !sent.contains(SECRET)), "{sent:?}");
            }
        }
    }
}
