//! Sentences as edit commands, without a model: a small grammar of what people say most.
//!
//! Invariant: a sentence either means commands about things that are in the flow, or it is said why not.
//! What it gives is applied like any other edit, so nothing here can break a flow.

mod nodes;
mod things;

use super::{Direction, FlowEdit};
use crate::model::{Flow, Node};
use things::{Found, Thing};

/// What a sentence means.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    Commands(Vec<FlowEdit>),
    /// The sentence is of a known form, and something in it is missing or can mean several things.
    Unclear(String),
    /// No form fits.
    Unknown,
}

/// What the grammar understands, one line for each form.
pub const FORMS: &[&str] = &[
    "add a node that fetches user features | calls https://… | posts to https://… | filters … | maps …",
    "connect the customer data to the LLM",
    "disconnect fetch_customer.customer_data from the LLM",
    "add error handling to the response generation",
    "make the LLM response more concise",
    "add caching to the feature fetch [for 10 minutes]",
    "rename fetch_customer to load_customer",
    "remove the node format_response",
    "set the timeout of the feature fetch to 5 seconds",
    "retry the feature fetch 3 times",
];

/// One form of sentence: what it means, or nothing when the words are of another form.
type Form = fn(&Flow, &[&str]) -> Option<Meaning>;

/// Reads a sentence about a flow.
#[must_use]
pub fn understand(flow: &Flow, sentence: &str) -> Meaning {
    let sentence = sentence.trim().trim_end_matches(['.', '!']);
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().filter(|word| *word != "please").collect();
    let forms: [Form; 9] =
        [nodes::add_node, error_handling, caching, connect, disconnect, rename, remove, settings, tone];
    forms.iter().find_map(|form| form(flow, &words)).unwrap_or(Meaning::Unknown)
}

/// The words behind one of these beginnings.
fn after<'words, 'text>(words: &'words [&'text str], openings: &[&[&str]]) -> Option<&'words [&'text str]> {
    let fits = |opening: &&&[&str]| {
        words.len() >= opening.len() && words.iter().zip(**opening).all(|(word, wanted)| word == wanted)
    };
    let opening = openings.iter().find(fits)?;
    words.get(opening.len()..)
}

/// The words ahead of and behind the last of these words.
fn around<'words, 'text>(
    words: &'words [&'text str],
    middles: &[&str],
) -> Option<(&'words [&'text str], &'words [&'text str])> {
    let at = words.iter().rposition(|word| middles.contains(word))?;
    Some((words.get(..at)?, words.get(at + 1..)?))
}

fn node_meant(flow: &Flow, words: &[&str], then: impl FnOnce(&Node) -> Meaning) -> Meaning {
    match things::node(flow, words) {
        Found::One(node) => then(node),
        Found::None => Meaning::Unclear(format!(
            "no node is like \"{}\"; the nodes are {}",
            words.join(" "),
            flow.nodes.keys().cloned().collect::<Vec<_>>().join(", ")
        )),
        Found::Several(nodes) => {
            let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
            Meaning::Unclear(format!("\"{}\" could be {}", words.join(" "), ids.join(" or ")))
        }
    }
}

fn error_handling(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let rest = after(
        words,
        &[
            &["add", "error", "handling", "to"],
            &["add", "an", "error", "handler", "to"],
            &["add", "a", "fallback", "to"],
            &["add", "error", "handling", "for"],
            &["add", "a", "fallback", "for"],
            &["handle", "errors", "of"],
            &["handle", "errors", "in"],
            &["handle", "the", "errors", "of"],
        ],
    )?;
    Some(node_meant(flow, rest, |node| {
        let node = node.id.value.clone();
        Meaning::Commands(vec![FlowEdit::AddErrorHandling { node, port: None, handler: None }])
    }))
}

fn caching(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let openings: &[&[&str]] = &[
        &["add", "caching", "to"],
        &["add", "a", "cache", "to"],
        &["add", "caching", "for"],
        &["cache", "the", "results", "of"],
        &["cache", "the", "result", "of"],
        &["cache"],
    ];
    let rest = after(words, openings)?;
    let (rest, ttl_seconds) = match around(rest, &["for"]) {
        Some((head, tail)) => match seconds(tail) {
            Some(seconds) => (head, Some(seconds)),
            None => (rest, None),
        },
        None => (rest, None),
    };
    Some(node_meant(flow, rest, |node| {
        let node = node.id.value.clone();
        Meaning::Commands(vec![FlowEdit::AddCaching { node, ttl_seconds, key: None }])
    }))
}

/// "10 minutes", "an hour", "30s".
fn seconds(words: &[&str]) -> Option<u64> {
    let (number, unit) = match words {
        ["a" | "an" | "one", unit] => (1, *unit),
        [number, unit] => (number.parse().ok()?, *unit),
        [whole] => {
            let digits = whole.len() - whole.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
            (whole.get(..digits)?.parse().ok()?, whole.get(digits..)?)
        }
        _ => return None,
    };
    let factor: u64 = match unit.trim_end_matches('s') {
        "" | "second" | "sec" => 1,
        "minute" | "min" | "m" => 60,
        "hour" | "h" => 3600,
        "day" | "d" => 86_400,
        _ => return None,
    };
    u64::checked_mul(number, factor).filter(|seconds| *seconds > 0)
}

fn connect(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let rest =
        after(words, &[&["connect"], &["wire"], &["send"], &["feed"], &["add", "an", "edge", "from"]])?;
    let (from, to) = around(rest, &["to", "into", "with"])?;
    Some(match ends(flow, from, to) {
        Err(reason) => Meaning::Unclear(reason),
        Ok((origin, Thing::Response)) => connection(origin.end(), "_output".to_owned()),
        Ok((origin, destination)) => match things::entry(flow, &origin, &destination) {
            Ok(port) => connection(origin.end(), port),
            Err(Some(reason)) => Meaning::Unclear(reason),
            // The node has no place for it, so it gets one.
            Err(None) => {
                let (name, kind) = origin.name_and_type(flow);
                let node = destination.node().unwrap_or_default().to_owned();
                let port = stave_canon::Value::from_iter([("name", name.as_str()), ("type", kind)]);
                let to = format!("{node}.{name}");
                let add = FlowEdit::AddPort { node, direction: Direction::Input, port };
                let connect = FlowEdit::Connect {
                    from: origin.end(),
                    to,
                    condition: None,
                    otherwise: false,
                    transform: None,
                };
                Meaning::Commands(vec![add, connect])
            }
        },
    })
}

fn connection(from: String, to: String) -> Meaning {
    Meaning::Commands(vec![FlowEdit::Connect {
        from,
        to,
        condition: None,
        otherwise: false,
        transform: None,
    }])
}

fn ends(flow: &Flow, from: &[&str], to: &[&str]) -> Result<(Thing, Thing), String> {
    let origin = things::origin(flow, from)?;
    let destination = things::destination(flow, to)?;
    Ok((origin, destination))
}

fn disconnect(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let rest = after(words, &[&["disconnect"], &["remove", "the", "edge", "from"], &["unwire"]])?;
    let (from, to) = around(rest, &["from", "to"])?;
    let (origin, destination) = match ends(flow, from, to) {
        Ok(ends) => ends,
        Err(reason) => return Some(Meaning::Unclear(reason)),
    };
    let node = destination.node();
    let edge = flow.edges.iter().find(|edge| {
        let (Some(from), Some(to)) = (&edge.from, &edge.to) else { return false };
        let same_from = from.to_string() == origin.end() || from.node.value == origin.end();
        let same_to = match (&destination, node) {
            (Thing::Response, _) => to.node.value == "_output",
            (Thing::Port { node, port }, _) => to.to_string() == format!("{node}.{port}"),
            (_, Some(node)) => to.node.value == node,
            _ => false,
        };
        same_from && same_to
    });
    Some(match edge {
        Some(edge) => {
            let text = |end: &Option<crate::model::Endpoint>| {
                end.as_ref().map(ToString::to_string).unwrap_or_default()
            };
            Meaning::Commands(vec![FlowEdit::Disconnect { from: text(&edge.from), to: text(&edge.to) }])
        }
        None => Meaning::Unclear(format!("no edge leads from {} there", origin.end())),
    })
}

fn rename(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let rest = after(words, &[&["rename"], &["call"]])?;
    let (from, to) = around(rest, &["to", "as", "into"])?;
    let [to] = to else { return None };
    Some(node_meant(flow, from, |node| {
        Meaning::Commands(vec![FlowEdit::RenameNode { from: node.id.value.clone(), to: (*to).to_owned() }])
    }))
}

fn remove(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let rest = after(words, &[&["remove"], &["delete"], &["drop"]])?;
    Some(node_meant(flow, rest, |node| {
        Meaning::Commands(vec![FlowEdit::RemoveNode { id: node.id.value.clone() }])
    }))
}

/// Timeouts and retries.
fn settings(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let set = |node: &Node, field: &str, number: u64| {
        let path = format!("/nodes/{}/runtime/{field}", node.id.value);
        Meaning::Commands(vec![FlowEdit::Set { path, value: number.into() }])
    };
    if let Some(rest) = after(words, &[&["set", "the", "timeout", "of"], &["set", "timeout", "of"]]) {
        let (node, time) = around(rest, &["to"])?;
        let milliseconds = match time {
            [number, "ms" | "milliseconds"] => number.parse().ok()?,
            _ => seconds(time)?.checked_mul(1000)?,
        };
        return Some(node_meant(flow, node, |node| set(node, "timeout_ms", milliseconds)));
    }
    let rest = after(words, &[&["retry"]])?;
    let (node, count) = match rest {
        [node @ .., count, "times" | "time"] => (node, count.parse().ok()?),
        [node @ .., "once"] => (node, 1),
        [node @ .., "twice"] => (node, 2),
        _ => return None,
    };
    Some(node_meant(flow, node, |node| set(node, "retries", count)))
}

/// Words for how a model is to answer, and the sentence that asks for it.
const TONES: &[(&[&str], &str)] = &[
    (
        &["concise", "brief", "short", "shorter", "terse", "succinct"],
        "Keep the answer as short as it can be: no preamble, no repetition, at most three sentences.",
    ),
    (&["detailed", "verbose", "longer", "thorough"], "Answer in detail and explain the reasons."),
    (&["formal", "professional"], "Write in a formal, professional tone."),
    (&["friendly", "friendlier", "warm", "warmer", "casual"], "Write in a friendly, warm tone."),
    (&["polite", "politer"], "Be polite."),
    (&["simple", "simpler", "clear", "clearer"], "Use plain words and short sentences."),
    (&["precise", "accurate", "exact"], "Be precise, and say so when something is not known."),
    (&["helpful"], "Offer a concrete next step."),
];

fn tone(flow: &Flow, words: &[&str]) -> Option<Meaning> {
    let rest = after(words, &[&["make"], &["let"]])?;
    let (adjective, rest) = rest.split_last()?;
    let rest = rest.strip_suffix(&["be"]).unwrap_or(rest);
    let rest = rest.strip_suffix(&["more"]).or_else(|| rest.strip_suffix(&["be", "more"])).unwrap_or(rest);
    let rest = rest.strip_suffix(&["be"]).unwrap_or(rest);
    let (_, sentence) = TONES.iter().find(|(words, _)| words.contains(adjective))?;
    Some(match things::prompt_node(flow, rest) {
        Found::One(node) => {
            let system = node.prompt.as_ref().and_then(|prompt| prompt.system.as_ref());
            if system.is_some_and(|system| system.as_str().contains(sentence)) {
                return Some(Meaning::Unclear(format!("node `{}` is asked that already", node.id.value)));
            }
            Meaning::Commands(vec![FlowEdit::SetPrompt {
                node: node.id.value.clone(),
                system: None,
                append_to_system: Some((*sentence).to_owned()),
                template: None,
                model: None,
                temperature: None,
                max_tokens: None,
                output_schema: None,
            }])
        }
        Found::None => Meaning::Unclear("no node of this flow asks a model".to_owned()),
        Found::Several(nodes) => {
            let ids: Vec<&str> = nodes.iter().map(|node| node.id.as_str()).collect();
            Meaning::Unclear(format!("several nodes ask a model: {}; name one of them", ids.join(", ")))
        }
    })
}
