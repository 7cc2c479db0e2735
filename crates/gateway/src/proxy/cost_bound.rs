//! The most that a request may cost, read from its body before it is sent.
//!
//! Invariant: every member that lets a provider write more counts, whatever the case of its name: a budget is held by
//! what is set aside, so a member that is not understood must not make a request look cheaper than it is. A limit that
//! is no whole number is refused, because servers differ in what they make of it. Only the data of an image, a
//! document or a sound that is a part of a message is left out of the count; every other byte counts as text, whatever
//! a `type` beside it says.

use std::ops::Range;

use stave_llm::Usage;
use stave_llm::prices::{Cost, server_tool_price};
use stave_llm::tokens::{longest_output, media_tokens};
use stave_lower::{BodyValue, RequestBody};

use super::delegated::{CONTENT, plain_name, tools};
use super::interface::Fault;

/// Output that a rate limit sets aside for a request that names no most. A rate corrects itself when the answer is
/// known; a budget does not, and sets aside what the model can write.
const USUAL_OUTPUT_TOKENS: u64 = 4096;

/// Input tokens of an image, whatever its size.
const IMAGE_TOKENS: u64 = 5_000;
/// Models that count images by tiles at the price of small tokens.
const IMAGE_TOKENS_OF_GPT_4O_MINI: u64 = 48_200;
/// Input tokens of a document that is named instead of sent, and the most of one that is sent.
const NAMED_DOCUMENT_TOKENS: u64 = 100_000;
/// Bytes of a second of sound, at the least: 8 kbit/s.
const BYTES_PER_SECOND: u64 = 1_000;
/// Input tokens of a second of sound, at the most.
const TOKENS_PER_SECOND: u64 = 32;
/// Input tokens of a conversation that the provider keeps.
const KEPT_CONVERSATION_TOKENS: u64 = 200_000;

/// How often a provider may call its tools for a request that names no most.
const USUAL_TOOL_CALLS: u64 = 10;
/// Input tokens that the result of one such call may add.
const TOKENS_PER_TOOL_CALL: u64 = 8_000;

/// How many answers are written, by names without case and underscores.
const CHOICES: [&str; 7] =
    ["n", "bestof", "candidatecount", "numreturnsequences", "numcompletions", "numgenerations", "numsamples"];

/// Members that choose another price than the table's, by names without case and underscores, with the values that do not.
const TIERS: [(&str, &[&str]); 3] = [
    ("servicetier", &["auto", "default", "standard", "standard_only", "flex"]),
    ("speed", &["standard"]),
    ("inferencegeo", &["global"]),
];

/// Members that let the provider answer after its reply, by names without case and underscores.
const LATER: [&str; 2] = ["background", "deferred"];

/// The bound of what a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CostBound {
    /// About how many tokens the input has, for a reply that does not say.
    pub(crate) likely_input: u64,
    /// The most input, results of the provider's own tools included.
    pub(crate) input: u64,
    /// The most output of all answers; `None` when the request names no most.
    pub(crate) output: Option<u64>,
    /// How many answers are asked for.
    pub(crate) choices: u64,
    pub(crate) tools: ServerTools,
    /// Whether the request asks for something whose price the table does not have, such as a service tier or a
    /// stored prompt with tools of its own.
    pub(crate) is_unpriced: bool,
    /// Whether the provider may continue when nobody reads its reply, so that what passed does not show its usage.
    pub(crate) goes_on: bool,
}

/// Tools that the provider runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ServerTools {
    /// How often they may be called.
    pub(crate) calls: u64,
    /// What the dearest of them costs per call.
    pub(crate) price: Cost,
    /// Whether every request calls one, which its reply does not show.
    pub(crate) is_implied: bool,
}

impl CostBound {
    pub(crate) fn read(body: &RequestBody<'_>, text: &str) -> Result<CostBound, Fault> {
        let root = body.root();
        let mut limits = Limits::default();
        limits.read(root, 0)?;
        let media = Media::read(root);
        let tools = server_tools(root)?;
        let batch =
            root.get("messages").map_or(0, |messages| messages.items().filter(|one| one.is_array()).count());
        let choices = limits.choices.max(1).saturating_mul((batch as u64).max(1));
        // A prediction that the model does not keep to is charged as if it had written it.
        let predicted =
            root.get("prediction").map_or(0, |prediction| most_tokens(prediction.raw().as_bytes()));
        let (mut bytes, mut most, mut at) = (0, 0, 0);
        let end = text.len()..text.len();
        for skipped in media.skipped.iter().chain(std::iter::once(&end)) {
            let kept = text.as_bytes().get(at..skipped.start).unwrap_or_default();
            bytes += kept.len() as u64;
            most += most_tokens(kept);
            at = skipped.end;
        }
        Ok(CostBound {
            likely_input: (bytes / 4 + 1).saturating_add(media.likely),
            input: most
                .saturating_add(media.tokens)
                .saturating_add(tools.calls.saturating_mul(TOKENS_PER_TOOL_CALL)),
            output: limits.tokens.map(|tokens| tokens.saturating_add(predicted).saturating_mul(choices)),
            choices,
            tools,
            is_unpriced: limits.is_unpriced,
            goes_on: limits.goes_on,
        })
    }

    /// The most output of an answer by `model`.
    pub(crate) fn most_output(&self, model: &str) -> u64 {
        self.output.unwrap_or_else(|| longest_output(model).saturating_mul(self.choices.max(1)))
    }

    /// What an attempt is charged for that nobody answered: its input, since a provider stops to write when nobody
    /// reads; its whole bound when the provider continues.
    pub(crate) fn unanswered(&self, model: &str) -> Usage {
        if self.goes_on {
            Usage { input: self.input, output: self.most_output(model), ..Usage::default() }
        } else {
            Usage { input: self.likely_input, ..Usage::default() }
        }
    }

    /// The output that a rate limit sets aside.
    pub(crate) fn usual_output(&self) -> u64 {
        self.output.unwrap_or_else(|| USUAL_OUTPUT_TOKENS.saturating_mul(self.choices.max(1)))
    }
}

#[derive(Debug, Default)]
struct Limits {
    /// The largest that is named.
    tokens: Option<u64>,
    choices: u64,
    is_unpriced: bool,
    goes_on: bool,
}

impl Limits {
    fn read(&mut self, object: BodyValue<'_, '_>, depth: usize) -> Result<(), Fault> {
        for (name, value) in object.members() {
            let plain = plain_name(&name);
            if depth == 0 && CONTENT.iter().any(|content| name.eq_ignore_ascii_case(content)) {
                continue;
            }
            if CHOICES.contains(&plain.as_str()) {
                self.choices = self.choices.max(whole_number(&name, value)?.unwrap_or_default());
            } else if is_token_limit(&plain) {
                self.tokens = self.tokens.max(whole_number(&name, value)?);
            } else if let Some((_, usual)) = TIERS.iter().find(|(tier, _)| *tier == plain) {
                let is_usual = value.text().is_some_and(|tier| usual.contains(&&*tier));
                self.is_unpriced |= !is_usual && !value.is_null();
            } else if LATER.contains(&plain.as_str()) {
                self.goes_on |= !value.is_null() && value.raw() != "false";
            } else {
                self.read_inside(value, depth)?;
            }
        }
        Ok(())
    }

    /// Reads the limits of an object, or of objects in a list. The parser bounds how deep a body is.
    fn read_inside(&mut self, value: BodyValue<'_, '_>, depth: usize) -> Result<(), Fault> {
        for item in value.items() {
            self.read_inside(item, depth + 1)?;
        }
        self.read(value, depth + 1)
    }
}

fn is_token_limit(plain: &str) -> bool {
    plain == "numpredict"
        || (plain.contains("token") && ["max", "budget", "min"].iter().any(|word| plain.contains(word)))
}

/// A limit: a whole number, or none.
fn whole_number(name: &str, value: BodyValue<'_, '_>) -> Result<Option<u64>, Fault> {
    if value.is_null() {
        return Ok(None);
    }
    value.raw().parse().map(Some).map_err(|_| {
        let name: String = name.chars().take(64).collect();
        Fault::bad_request(format!("`{name}` must be a whole number that is not negative"))
    })
}

/// The parts of a request that are not text.
#[derive(Debug, Default)]
struct Media {
    images: u64,
    /// Where data of images, documents and sounds stands, in order.
    skipped: Vec<Range<usize>>,
    /// The most tokens.
    tokens: u64,
    /// The tokens of what is sent, by the providers' rules.
    likely: u64,
}

impl Media {
    fn read(root: BodyValue<'_, '_>) -> Media {
        let mut media = Media::default();
        for kept in ["previous_response_id", "conversation"] {
            if root.get(kept).is_some_and(|value| !value.is_null()) {
                media.tokens = media.tokens.saturating_add(KEPT_CONVERSATION_TOKENS);
            }
        }
        if root.at(&["prompt", "id"]).is_some() {
            media.tokens = media.tokens.saturating_add(NAMED_DOCUMENT_TOKENS);
        }
        let model = root.get("model").and_then(BodyValue::text).unwrap_or_default();
        media.read_named(root);
        media.read_parts(root, &model);
        let per_image =
            if model.contains("gpt-4o-mini") { IMAGE_TOKENS_OF_GPT_4O_MINI } else { IMAGE_TOKENS };
        media.tokens = media.tokens.saturating_add(media.images.saturating_mul(per_image));
        media.skipped.sort_by_key(|range| range.start);
        media
    }

    /// Adds what is named instead of sent, wherever it is: that makes a request dearer and never cheaper.
    fn read_named(&mut self, root: BodyValue<'_, '_>) {
        let mut open = vec![root];
        while let Some(value) = open.pop() {
            let kind = if value.is_object() { value.get("type").and_then(BodyValue::text) } else { None };
            let is_named = match kind.as_deref() {
                Some("item_reference" | "container_upload") => true,
                Some("document" | "file" | "input_file") => names_a_document(value),
                _ => false,
            };
            if is_named {
                self.tokens = self.tokens.saturating_add(NAMED_DOCUMENT_TOKENS);
            }
            open.extend(value.members().map(|(_, member)| member));
            open.extend(value.items());
        }
    }

    /// Finds media where the interfaces have them: among the parts of a message, of a tool's result and of a
    /// document, and among the items of `input`.
    fn read_parts(&mut self, root: BodyValue<'_, '_>, model: &str) {
        let mut parts: Vec<BodyValue<'_, '_>> =
            root.get("input").into_iter().flat_map(BodyValue::items).collect();
        for message in root.get("messages").into_iter().flat_map(BodyValue::items) {
            let batch = message.items().chain(std::iter::once(message));
            parts.extend(batch.filter_map(|message| message.get("content")).flat_map(BodyValue::items));
        }
        while let Some(part) = parts.pop() {
            let inside = [part.get("content"), part.get("output"), part.at(&["source", "content"])];
            parts.extend(inside.iter().flatten().flat_map(|list| list.items()));
            parts.extend(part.get("output").filter(|output| output.is_object()));
            let kind = part.get("type").and_then(BodyValue::text);
            match kind.as_deref() {
                Some("image" | "image_url" | "input_image" | "computer_screenshot") => {
                    self.images = self.images.saturating_add(1);
                    let places: [&[&str]; 3] = [&["source", "data"], &["image_url"], &["image_url", "url"]];
                    self.skipped.extend(media_data(part, &places, "data:image/").map(BodyValue::range));
                    self.likely = self.likely.saturating_add(likely(part, model));
                }
                Some("document" | "file" | "input_file") => {
                    // A document of text counts as text.
                    if part.at(&["source", "type"]).and_then(BodyValue::text).as_deref() == Some("text") {
                        continue;
                    }
                    let places: [&[&str]; 3] = [&["source", "data"], &["file", "file_data"], &["file_data"]];
                    for data in media_data(part, &places, "data:application/pdf") {
                        let most = most_tokens(data.raw().as_bytes()).min(NAMED_DOCUMENT_TOKENS);
                        self.tokens = self.tokens.saturating_add(most);
                        self.likely = self.likely.saturating_add(likely(part, model).min(most));
                        self.skipped.push(data.range());
                    }
                }
                Some("input_audio" | "audio") => {
                    let places: [&[&str]; 3] =
                        [&["input_audio", "data"], &["source", "data"], &["audio", "data"]];
                    for data in media_data(part, &places, "data:audio/") {
                        let bytes = data.range().len() as u64 / 4 * 3;
                        let most = (bytes / BYTES_PER_SECOND + 1).saturating_mul(TOKENS_PER_SECOND);
                        self.tokens = self.tokens.saturating_add(most);
                        self.likely = self.likely.saturating_add(likely(part, model).min(most));
                        self.skipped.push(data.range());
                    }
                }
                _ => {}
            }
        }
    }
}

/// The tokens of a part by the provider's rules.
fn likely(part: BodyValue<'_, '_>, model: &str) -> u64 {
    media_tokens(model, &|path| part.at(path)?.text()).unwrap_or_default()
}

/// The members of a part that are media in base64.
fn media_data<'p, 't, 'b>(
    part: BodyValue<'t, 'b>,
    places: &'p [&'p [&'p str]],
    address: &'p str,
) -> impl Iterator<Item = BodyValue<'t, 'b>> + use<'p, 't, 'b> {
    places.iter().filter_map(move |place| part.at(place)).filter(move |data| is_base64(*data, address))
}

/// Whether a value is base64, alone or in a `data:` address of a type. An address elsewhere is short, and counts as
/// text.
fn is_base64(value: BodyValue<'_, '_>, address: &str) -> bool {
    let Some(text) = value.text() else { return false };
    let data = match text.split_once(";base64,") {
        Some((kind, data)) if kind.len() <= 64 && kind.starts_with(address) => data,
        Some(_) => return false,
        None => &text,
    };
    data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
}

/// Whether a document is named by an id or an address instead of being sent.
fn names_a_document(part: BodyValue<'_, '_>) -> bool {
    let own = [Some(part), part.get("source"), part.get("file")];
    let names = ["file_id", "file_url", "url"];
    own.into_iter().flatten().any(|place| names.iter().any(|name| place.get(name).is_some()))
}

fn server_tools(root: BodyValue<'_, '_>) -> Result<ServerTools, Fault> {
    let listed = tools(root);
    let mut tools = ServerTools::default();
    let most = match root.get("max_tool_calls") {
        Some(value) => whole_number("max_tool_calls", value)?,
        None => None,
    };
    for tool in listed {
        let kind = tool.get("type").and_then(BodyValue::text).unwrap_or_default();
        let Some(price) = server_tool_price(&kind) else { continue };
        let uses = match tool.get("max_uses") {
            Some(value) => whole_number("max_uses", value)?,
            None => None,
        };
        tools.calls = tools.calls.saturating_add(uses.or(most).unwrap_or(USUAL_TOOL_CALLS));
        tools.price = tools.price.max(price);
    }
    tools.calls = tools.calls.min(most.unwrap_or(u64::MAX));
    if root.get("web_search_options").is_some_and(|options| !options.is_null()) {
        tools.calls = tools.calls.saturating_add(1);
        tools.price = tools.price.max(server_tool_price("web_search").unwrap_or_default());
        tools.is_implied = true;
    }
    if root.get("mcp_servers").is_some_and(|servers| servers.items().next().is_some()) {
        tools.calls = tools.calls.saturating_add(USUAL_TOOL_CALLS);
    }
    // Work in a container is charged like a call of the tool that runs code in it.
    if root.get("container").is_some_and(|container| !container.is_null()) {
        tools.calls = tools.calls.saturating_add(USUAL_TOOL_CALLS);
        tools.price = tools.price.max(server_tool_price("code_execution").unwrap_or_default());
    }
    Ok(tools)
}

/// The most tokens that a text has in any vocabulary in use: two small letters each, spaces with what follows them,
/// and everything else by its bytes.
fn most_tokens(text: &[u8]) -> u64 {
    let (mut halves, mut before) = (0_u64, b' ');
    for byte in text {
        halves += match byte {
            letter if letter.is_ascii_lowercase() => 1 + u64::from(!before.is_ascii_lowercase()),
            b' ' => u64::from(before == b' '),
            _ => 2,
        };
        before = *byte;
    }
    halves.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> CostBound {
        CostBound::read(&RequestBody::read(text).unwrap(), text).unwrap()
    }

    #[test]
    fn the_largest_limit_counts_for_every_answer() {
        for (members, output) in [
            (r#""max_tokens":5"#, Some(5)),
            (r#""max_completion_tokens":1,"max_tokens":90000"#, Some(90_000)),
            (r#""max_tokens":90000,"max_completion_tokens":1"#, Some(90_000)),
            (r#""Max_Tokens":70,"max_tokens_to_sample":3"#, Some(70)),
            (r#""max_t\u006fkens":700,"maxOutputTokens":3"#, Some(700)),
            (r#""max_tokens":16,"thinking":{"budget_tokens":20000}"#, Some(20_000)),
            (r#""max_tokens":16,"n":100"#, Some(1600)),
            (r#""max_tokens":16,"N":7,"best_of":100"#, Some(1600)),
            (r#""max_tokens":16,"extra_body":{"n":4}"#, Some(64)),
            (r#""max_tokens":18446744073709551615,"n":3"#, Some(u64::MAX)),
            (r#""max_tokens":5,"extra":[[{"max_tokens":900}]]"#, Some(900)),
            (r#""max_tokens":5,"a":{"b":{"c":{"d":{"e":{"f":{"max_tokens":900}}}}}}"#, Some(900)),
            (r#""max_tokens":null"#, None),
            (r#""metadata":{"max_tokens":"no limit"}"#, None),
        ] {
            assert_eq!(bound(&format!("{{{members}}}")).output, output, "{members}");
        }
        assert_eq!(bound("{}").most_output("gpt-5"), 128_000);
        assert_eq!(bound(r#"{"n":3}"#).most_output("gpt-4o"), 3 * 16_384);
        let batch = bound(r#"{"max_tokens":10,"messages":[[{"role":"user"}],[],[]]}"#);
        assert_eq!(batch.output, Some(30));
        let predicted =
            bound(r#"{"max_tokens":10,"prediction":{"type":"content","content":"a b c d e f g h"}}"#);
        assert!(predicted.output > Some(18), "{predicted:?}");
    }

    #[test]
    fn a_limit_that_is_no_whole_number_is_refused() {
        for members in [
            r#""max_tokens":"90000""#,
            r#""max_tokens":1.5"#,
            r#""max_tokens":1e9"#,
            r#""max_completion_tokens":-1"#,
            r#""n":"100""#,
            r#""n":[100]"#,
            r#""n":{"x":1}"#,
            r#""max_tokens":{"a":1}"#,
            r#""max_tokens":[5]"#,
            r#""extra":[[{"max_tokens":"5"}]]"#,
            r#""max_tokens":99999999999999999999999"#,
            r#""tools":[{"type":"web_search","max_uses":"many"}]"#,
        ] {
            let text = format!("{{{members}}}");
            let read = CostBound::read(&RequestBody::read(&text).unwrap(), &text);
            assert!(read.is_err(), "{members}");
        }
    }

    #[test]
    fn a_tier_without_a_price_is_seen() {
        for (members, is_unpriced) in [
            (r#""service_tier":"auto""#, false),
            (r#""service_tier":null,"speed":"standard""#, false),
            (r#""service_tier":"priority""#, true),
            (r#""serviceTier":{"a":1}"#, true),
            (r#""extra_body":{"Service_Tier":"scale"}"#, true),
            (r#""speed":"fast""#, true),
            (r#""metadata":{"speed":"fast"}"#, false),
        ] {
            assert_eq!(bound(&format!("{{{members}}}")).is_unpriced, is_unpriced, "{members}");
        }
    }

    #[test]
    fn a_request_that_is_answered_later_is_seen() {
        for (members, goes_on) in [
            (r#""background":true"#, true),
            (r#""Background":1"#, true),
            (r#""extra_body":{"background":true}"#, true),
            (r#""deferred":true"#, true),
            (r#""background":false"#, false),
            (r#""background":null"#, false),
            (r#""tools":[{"type":"image_generation","background":"transparent"}]"#, false),
        ] {
            assert_eq!(bound(&format!("{{{members}}}")).goes_on, goes_on, "{members}");
        }
    }

    #[test]
    fn what_is_named_instead_of_sent_counts() {
        let image =
            r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}]}"#;
        assert!(bound(image).input >= IMAGE_TOKENS);
        let inline = format!(
            r#"{{"messages":[{{"content":[{{"type":"image","source":{{"type":"base64","data":"{}"}}}}]}}]}}"#,
            "A".repeat(1_000_000)
        );
        assert!((IMAGE_TOKENS..IMAGE_TOKENS + 100).contains(&bound(&inline).input));
        for named in [
            r#"{"previous_response_id":"r1","input":"hi"}"#,
            r#"{"input":[{"type":"input_file","file_id":"f"}]}"#,
            r#"{"input":[{"type":"item_reference","id":"f"}]}"#,
            r#"{"messages":[{"content":[{"type":"document","source":{"type":"url","url":"https://a"}}]}]}"#,
        ] {
            assert!(bound(named).input >= NAMED_DOCUMENT_TOKENS, "{named}");
        }
    }

    #[test]
    fn only_the_data_of_an_image_part_is_not_counted_as_text() {
        let (words, data) = ("word ".repeat(20_000), "QUJD".repeat(20_000));
        for text in [
            format!(r#"{{"type":"image","messages":[{{"role":"user","content":"{words}"}}]}}"#),
            format!(r#"{{"messages":[{{"role":"user","type":"image","content":"{words}"}}]}}"#),
            format!(r#"{{"messages":[{{"content":[{{"type":"image","text":"{words}"}}]}}]}}"#),
            format!(r#"{{"messages":[{{"content":[{{"type":"image","source":{{"data":"{words}"}}}}]}}]}}"#),
            format!(r#"{{"messages":[{{"content":[{{"type":"text","source":{{"data":"{data}"}}}}]}}]}}"#),
            format!(r#"{{"tools":[{{"type":"image","source":{{"data":"{data}"}}}}]}}"#),
            format!(r#"{{"system":[{{"type":"image","image_url":"{data}"}}]}}"#),
            format!(r#"{{"input":{{"type":"input_image","image_url":"{data}"}}}}"#),
        ] {
            assert!(bound(&text).input >= 20_000, "{}", &text[..60]);
        }
        for text in [
            format!(
                r#"{{"messages":[{{"content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}]}}]}}"#
            ),
            format!(
                r#"{{"input":[{{"role":"user","content":[{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}]}}]}}"#
            ),
            format!(
                r#"{{"messages":[{{"content":[{{"type":"tool_result","content":[{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}]}}]}}]}}"#
            ),
            format!(
                r#"{{"input":[{{"type":"computer_call_output","output":{{"type":"computer_screenshot","image_url":"data:image/png;base64,{data}"}}}}]}}"#
            ),
        ] {
            assert!((IMAGE_TOKENS..IMAGE_TOKENS + 150).contains(&bound(&text).input), "{}", &text[..60]);
        }
    }

    #[test]
    fn documents_and_sounds_are_bounded_and_estimated_by_the_providers_rules() {
        let data = "QUJD".repeat(100_000);
        for (part, most, likely) in [
            (
                format!(r#"{{"type":"input_audio","input_audio":{{"data":"{data}","format":"mp3"}}}}"#),
                9_632,
                375,
            ),
            (
                format!(r#"{{"type":"document","source":{{"type":"base64","data":"{data}"}}}}"#),
                NAMED_DOCUMENT_TOKENS,
                21_000,
            ),
            (
                format!(r#"{{"type":"file","file":{{"file_data":"data:application/pdf;base64,{data}"}}}}"#),
                NAMED_DOCUMENT_TOKENS,
                21_000,
            ),
        ] {
            let text = format!(r#"{{"model":"gpt-4o","messages":[{{"content":[{part}]}}]}}"#);
            let bound = bound(&text);
            assert!((most..most + 150).contains(&bound.input), "{}: {bound:?}", &part[..30]);
            assert!((likely..likely + 50).contains(&bound.likely_input), "{}: {bound:?}", &part[..30]);
        }
        // Words are no sound, and a document of text is text.
        let words = "word ".repeat(40_000);
        for part in [
            format!(r#"{{"type":"input_audio","input_audio":{{"data":"{words}"}}}}"#),
            format!(r#"{{"type":"document","source":{{"type":"text","data":"{data}"}}}}"#),
        ] {
            let text = format!(r#"{{"messages":[{{"content":[{part}]}}]}}"#);
            assert!(bound(&text).input >= 100_000, "{}", &part[..30]);
        }
    }

    #[test]
    fn tools_that_the_provider_runs_are_set_aside() {
        let tools = |text: &str| bound(text).tools;
        assert_eq!(tools(r#"{"tools":[{"type":"function"},{"name":"x"}]}"#), ServerTools::default());
        let search = tools(r#"{"tools":[{"type":"web_search_20250305","max_uses":3}]}"#);
        assert_eq!((search.calls, search.price), (3, Cost::from_micros(25_000)));
        assert_eq!(tools(r#"{"tools":[{"type":"file_search"}]}"#).calls, USUAL_TOOL_CALLS);
        assert_eq!(tools(r#"{"max_tool_calls":2,"tools":[{"type":"file_search"},{"type":"x"}]}"#).calls, 2);
        assert!(tools(r#"{"web_search_options":{}}"#).is_implied);
        let container = tools(r#"{"container":{"skills":[]}}"#);
        assert_eq!((container.calls, container.price), (USUAL_TOOL_CALLS, Cost::from_micros(50_000)));
        assert_eq!(tools(r#"{"input":[{"tools":[{"type":"file_search"}]}]}"#).calls, USUAL_TOOL_CALLS);
    }

    #[test]
    fn no_text_has_more_tokens_than_its_bound() {
        for text in ["plain words of a text", "1234567890", "!!??,,..", "日本語", "aAbBcC", "x  \n\n\t y"]
        {
            let counted = stave_llm::tokens::count_text("gpt-4o", text).tokens;
            assert!(most_tokens(text.as_bytes()) >= counted, "{text}");
        }
        assert!(most_tokens(&[b'a'; 4000]) <= 2001);
    }
}
