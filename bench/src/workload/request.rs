//! The request of the cache benchmarks: 20 messages, 30 tools, some 115 kB.

use stave_canon::Value;

use super::random::Random;

/// A body of Anthropic's messages.
pub(crate) fn body() -> String {
    sized(1200, 2200, 6000)
}

/// The same with descriptions of tools, messages and a system text of about so many bytes each.
pub(crate) fn sized(description: usize, message: usize, system: usize) -> String {
    let mut random = Random::new(115);
    let text = |bytes: usize, random: &mut Random| {
        let mut text = String::new();
        while text.len() < bytes {
            text.push_str(&random.sentence());
            text.push('\n');
        }
        text
    };
    let tools: Vec<Value> = (0..30)
        .map(|index| {
            let described = Value::from(text(description, &mut random));
            let property = Value::from_iter([
                ("type", Value::from("string")),
                ("description", text(description / 4, &mut random).into()),
            ]);
            let properties = Value::from_iter([("path", property.clone()), ("pattern", property)]);
            let schema = Value::from_iter([("type", Value::from("object")), ("properties", properties)]);
            Value::from_iter([
                ("name", Value::from(format!("tool_{index}"))),
                ("description", described),
                ("input_schema", schema),
            ])
        })
        .collect();
    let messages: Vec<Value> = (0..20)
        .map(|index| {
            let role = if index % 2 == 0 { "user" } else { "assistant" };
            Value::from_iter([("role", Value::from(role)), ("content", text(message, &mut random).into())])
        })
        .collect();
    Value::from_iter([
        ("model", Value::from("claude-sonnet-4-6")),
        ("max_tokens", 1024.into()),
        ("system", text(system, &mut random).into()),
        ("tools", tools.into()),
        ("messages", messages.into()),
    ])
    .to_string()
}
