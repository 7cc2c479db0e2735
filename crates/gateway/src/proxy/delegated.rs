//! What a request leaves to the provider: which other models may answer it, and tools that its own list does not show.
//!
//! Invariant: a key's models and budget are judged by `model` and by the members of the body. So a member that names
//! another model, or that brings in what nobody can price, is found whatever the case of its name and however deep it
//! is outside of content.

use stave_lower::{BodyValue, RequestBody};

/// Members at the top that hold content. What is called a model in there is text.
pub(super) const CONTENT: [&str; 13] = [
    "messages",
    "input",
    "system",
    "instructions",
    "tools",
    "functions",
    "metadata",
    "response_format",
    "text",
    "prediction",
    "prompt",
    "tool_choice",
    "context_management",
];

/// Members that choose another model by something else than its name, by names without case and underscores.
const CHOOSES_A_MODEL: [&str; 4] = ["route", "fallbacks", "preset", "presetid"];

/// Members that choose dearer hosts or run tools that `tools` does not list, by names without case and underscores.
const COSTS_UNSEEN: [&str; 4] = ["provider", "plugins", "searchparameters", "skills"];

/// What a request leaves to the provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Delegated {
    /// The member that lets another model answer.
    pub(crate) member: Option<String>,
    /// The other models that are named.
    pub(crate) models: Vec<String>,
    /// Whether the request may cost what neither its model nor its tools show.
    pub(crate) is_unpriced: bool,
}

impl Delegated {
    pub(crate) fn read(body: &RequestBody<'_>, model: &str) -> Delegated {
        let root = body.root();
        let mut found = Delegated::default();
        found.read_members(root, model, 0);
        // A stored prompt brings tools of its own.
        found.is_unpriced |= root.get("prompt").is_some_and(BodyValue::is_object);
        for tool in tools(root) {
            found.read_tool(tool, model);
        }
        found.is_unpriced |= found.member.is_some();
        found
    }

    /// The parser bounds how deep a body is.
    fn read_members(&mut self, object: BodyValue<'_, '_>, model: &str, depth: usize) {
        for (name, value) in object.members() {
            let is_content = depth == 0 && CONTENT.iter().any(|content| name.eq_ignore_ascii_case(content));
            if is_content || (depth == 0 && name == "model") || says_nothing(value) {
                continue;
            }
            let plain = plain_name(&name);
            if CHOOSES_A_MODEL.contains(&plain.as_str()) {
                self.member.get_or_insert_with(|| shown(&name));
            }
            if plain.contains("model") || CHOOSES_A_MODEL.contains(&plain.as_str()) {
                self.read_models(&name, value, model);
            }
            self.is_unpriced |= COSTS_UNSEEN.contains(&plain.as_str());
            self.read_inside(value, model, depth);
        }
    }

    fn read_inside(&mut self, value: BodyValue<'_, '_>, model: &str, depth: usize) {
        for item in value.items() {
            self.read_inside(item, model, depth + 1);
        }
        self.read_members(value, model, depth + 1);
    }

    /// Takes the names of models that a member has, alone or in a list.
    fn read_models(&mut self, name: &str, value: BodyValue<'_, '_>, model: &str) {
        for named in std::iter::once(value).chain(value.items()).filter_map(BodyValue::text) {
            if *named != *model {
                self.member.get_or_insert_with(|| shown(name));
                self.models.push(named.into_owned());
            }
        }
    }

    fn read_tool(&mut self, tool: BodyValue<'_, '_>, model: &str) {
        let kind = tool.get("type").and_then(BodyValue::text).unwrap_or_default().to_ascii_lowercase();
        // Functions have parameters of any name.
        if kind.is_empty() || kind == "function" || kind == "custom" {
            return;
        }
        if let Some(value) = tool.get("model") {
            self.read_models("tools[].model", value, model);
        }
        // A shell runs in a container of the provider, which charges for it, unless it is said to be the client's.
        let environment = tool.at(&["environment", "type"]).and_then(BodyValue::text);
        self.is_unpriced |= kind.starts_with("shell") && environment.as_deref() != Some("local");
    }
}

/// The tools of a request: those that it lists, and those that items of its conversation bring in.
pub(super) fn tools<'t, 'b: 't>(root: BodyValue<'t, 'b>) -> Vec<BodyValue<'t, 'b>> {
    let lists = |object: BodyValue<'t, 'b>| {
        object.members().filter(|(name, _)| name.eq_ignore_ascii_case("tools")).map(|(_, list)| list)
    };
    let later = root.get("input").into_iter().flat_map(BodyValue::items).flat_map(lists);
    lists(root).chain(later).flat_map(BodyValue::items).collect()
}

/// A name without case and without what is no letter or digit.
pub(super) fn plain_name(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn shown(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

fn says_nothing(value: BodyValue<'_, '_>) -> bool {
    value.is_null() || (value.is_array() && value.items().next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(members: &str) -> Delegated {
        let text = format!(r#"{{"model":"m",{members}}}"#);
        Delegated::read(&RequestBody::read(&text).unwrap(), "m")
    }

    #[test]
    fn members_that_let_another_model_answer_are_found() {
        for (members, member) in [
            (r#""models":["m","dear"]"#, "models"),
            (r#""Models":"dear""#, "Models"),
            (r#""route":"fallback""#, "route"),
            (r#""fallbacks":[{"model":"dear"}]"#, "fallbacks"),
            (r#""fallback_models":["dear"]"#, "fallback_models"),
            (r#""preset":"p""#, "preset"),
            (r#""extra_body":{"models":["dear"]}"#, "models"),
            (r#""plugins":[{"id":"auto-router","allowed_models":["dear"]}]"#, "allowed_models"),
            (r#""tools":[{"type":"advisor_20260301","model":"dear"}]"#, "tools[].model"),
        ] {
            let found = read(members);
            assert_eq!(found.member.as_deref(), Some(member), "{members}");
            assert!(found.is_unpriced, "{members}");
        }
        assert_eq!(read(r#""fallbacks":[{"model":"dear"}]"#).models, ["dear"]);
        for members in [
            r#""models":[],"route":null"#,
            r#""models":["m"]"#,
            r#""metadata":{"model":"dear"}"#,
            r#""messages":[{"role":"user","content":"x","model":"dear"}]"#,
            r#""tools":[{"type":"function","name":"f","parameters":{"model":"dear"},"model":"dear"}]"#,
        ] {
            assert_eq!(read(members), Delegated::default(), "{members}");
        }
    }

    #[test]
    fn what_costs_unseen_has_no_price() {
        for (members, is_unpriced) in [
            (r#""prompt":{"id":"p"}"#, true),
            (r#""prompt":"a text""#, false),
            (r#""provider":{"order":["x"]}"#, true),
            (r#""plugins":[{"id":"web"}]"#, true),
            (r#""search_parameters":{"mode":"on"}"#, true),
            (r#""tools":[{"type":"shell","environment":{"type":"container_auto"}}]"#, true),
            (r#""tools":[{"type":"shell"}]"#, true),
            (r#""tools":[{"type":"shell","environment":{"type":"local"}}]"#, false),
            (r#""input":[{"type":"tool_search_output","tools":[{"type":"shell"}]}]"#, true),
            (r#""plugins":[],"provider":null"#, false),
        ] {
            assert_eq!(read(members).is_unpriced, is_unpriced, "{members}");
        }
    }
}
