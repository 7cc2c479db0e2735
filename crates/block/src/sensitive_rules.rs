//! The rules that say what keys, tokens and personal data look like: those of the table in `data/`, and those that a
//! project adds.
//!
//! Invariants: every rule runs in time linear in its text. A rule of a project is bounded in its length and in what it
//! compiles to, and a project cannot remove a rule of the table; it can only list values that are no secrets.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder, RegexSet};
use serde::Deserialize;
use thiserror::Error;

use crate::Sensitivity;
use crate::check_digits::{iban, payment_card};

/// The longest regular expression of a project, in bytes.
pub const LONGEST_GATE_REGEX: usize = 1024;

/// The most rules, allowed values and allowed expressions of a project, each.
pub const MOST_GATE_RULES: usize = 128;

/// The longest name of a rule.
const LONGEST_RULE_NAME: usize = 64;

/// What one expression of a project may compile to, in bytes.
const COMPILED_BYTES: usize = 1 << 20;

/// The edge of a word, as the table writes it.
const EDGE: &str = r"(?-u:\b)";

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) rule: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) name: String,
    label: String,
    regex: String,
    check: Option<String>,
    /// The form in texts that were joined, where nothing else ends a key than its own characters.
    joined: Option<String>,
    /// Whether much random base64 contains the form by chance.
    #[serde(default)]
    chance: bool,
    /// Texts that the rule recognises, for tests; `<mixed:36>` stands for 36 characters.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "tests read the examples"))]
    pub(crate) found: Vec<String>,
    /// Texts that only resemble what the rule recognises.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "tests read the examples"))]
    pub(crate) left: Vec<String>,
}

/// One rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) label: Sensitivity,
    pub(crate) regex: Regex,
    pub(crate) holds: fn(&str) -> bool,
    joined: Option<Regex>,
    pub(crate) is_chance: bool,
    /// Whether it begins and ends at the edge of a word.
    pub(crate) edges: (bool, bool),
}

impl Rule {
    /// What the rule searches for in a text that was joined from several.
    pub(crate) fn joined(&self) -> &Regex {
        self.joined.as_ref().unwrap_or(&self.regex)
    }

    /// Whether all of a piece of a joined text is what the rule recognises.
    pub(crate) fn is_whole(&self, text: &str) -> bool {
        let matched = self.joined().find(text);
        matched.is_some_and(|found| found.start() == 0 && found.end() == text.len()) && (self.holds)(text)
    }
}

/// Rules that are asked one after the other. Each alone finds the texts that cannot hold it by the characters that it
/// requires; all of them in one automaton have too many states for that, and take hundreds of times as long.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleSet {
    pub(crate) each: Vec<Rule>,
    /// How many matches are looked at before the time is.
    pub(crate) matches_per_look: usize,
}

/// The rules of the table.
pub(crate) static BUILT_IN: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::read(str::to_owned));

/// The rules without the edges of words, for texts that were joined: before and after each text was another one.
pub(crate) static EDGELESS: LazyLock<RuleSet> =
    LazyLock::new(|| RuleSet::read(|regex| regex.replace(EDGE, "")));

pub(crate) fn table() -> Table {
    crate::rules::embedded(include_str!("../data/sensitivity.toml"), "sensitivity")
}

impl RuleSet {
    fn read(written: impl Fn(&str) -> String) -> RuleSet {
        let table = table();
        let each = table.rule.into_iter().map(|row| {
            Some(Rule {
                label: Sensitivity::from_word(&row.label)?,
                regex: Regex::new(&written(&row.regex)).ok()?,
                holds: match row.check.as_deref() {
                    None => |_| true,
                    Some("payment_card") => payment_card,
                    Some("iban") => iban,
                    Some(_) => return None,
                },
                joined: row.joined.map(|joined| Regex::new(&joined)).transpose().ok()?,
                is_chance: row.chance,
                edges: (row.regex.trim_start_matches("(?i)").starts_with(EDGE), row.regex.ends_with(EDGE)),
                name: row.name,
            })
        });
        let each: Option<Vec<Rule>> = each.collect();
        debug_assert!(each.is_some(), "the embedded rules are valid");
        RuleSet { each: each.unwrap_or_default(), matches_per_look: 1024 }
    }
}

/// A rule that a project adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRule {
    pub name: String,
    pub label: Sensitivity,
    pub regex: String,
}

/// Why the gate cannot use what a project says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadGateRule {
    #[error("{0:?} is not a name for a rule: 1 to {LONGEST_RULE_NAME} letters, digits, `_` and `-`")]
    Name(String),
    #[error("two rules have the name `{0}`")]
    NameTaken(String),
    #[error("a rule for public content has no effect; its label is `private` or `restricted`")]
    Public,
    #[error("the expression has more than {LONGEST_GATE_REGEX} bytes")]
    Long,
    #[error("the expression is not a regular expression: {0}")]
    Syntax(String),
    #[error("the expression compiles to more than {COMPILED_BYTES} bytes; use smaller repetitions")]
    Large,
    #[error("the expression matches the empty text")]
    Empty,
    #[error("there are more than {MOST_GATE_RULES} entries")]
    Many,
}

/// What the gate looks for: the rules of the table and those of a project, without the values that the project lists as
/// no secrets.
#[derive(Debug, Clone, Default)]
pub struct GateRules {
    written: (Vec<OwnRule>, Vec<String>, Vec<String>),
    pub(crate) own: RuleSet,
    /// The same without the edges of words at their ends.
    pub(crate) own_edgeless: RuleSet,
    allowed: HashSet<String>,
    allowed_forms: RegexSet,
}

impl PartialEq for GateRules {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for GateRules {}

impl GateRules {
    /// The rules of the table with these. `allow` are values, and `allow_regex` expressions for whole values.
    pub fn new(
        rules: Vec<OwnRule>,
        allow: Vec<String>,
        allow_regex: Vec<String>,
    ) -> Result<GateRules, BadGateRule> {
        if [rules.len(), allow.len(), allow_regex.len()].iter().any(|count| *count > MOST_GATE_RULES) {
            return Err(BadGateRule::Many);
        }
        let mut each: Vec<Rule> = Vec::with_capacity(rules.len());
        let mut edgeless: Vec<Rule> = Vec::with_capacity(rules.len());
        for rule in &rules {
            check_rule_name(&rule.name)?;
            let is_taken = |known: &Rule| known.name == rule.name;
            if each.iter().any(is_taken) || BUILT_IN.each.iter().any(is_taken) {
                return Err(BadGateRule::NameTaken(rule.name.clone()));
            }
            if rule.label == Sensitivity::Public {
                return Err(BadGateRule::Public);
            }
            gate_regex(&rule.regex)?;
            let (inner, edges) = without_edges(&rule.regex);
            let compiled = |regex: &str| -> Result<Rule, BadGateRule> {
                Ok(Rule {
                    name: rule.name.clone(),
                    label: rule.label,
                    regex: gate_regex(regex)?,
                    holds: |_| true,
                    joined: None,
                    is_chance: false,
                    edges,
                })
            };
            each.push(compiled(&with_edges(inner, edges))?);
            edgeless.push(compiled(inner)?);
        }
        allow_regex.iter().try_for_each(|regex| gate_regex(regex).map(drop))?;
        let allowed_forms = set_of(allow_regex.iter().map(|regex| format!(r"\A(?:{regex})\z")))?;
        Ok(GateRules {
            allowed: allow.iter().cloned().collect(),
            allowed_forms,
            // A search for an expression of a project can read all of the rest of a text for each match.
            own: RuleSet { each, matches_per_look: 16 },
            own_edgeless: RuleSet { each: edgeless, matches_per_look: 16 },
            written: (rules, allow, allow_regex),
        })
    }

    /// Whether the project says that a value is no secret.
    pub(crate) fn is_allowed(&self, value: &str) -> bool {
        self.allowed.contains(value) || self.allowed_forms.is_match(value)
    }
}

/// Whether a project may give this name to a rule.
pub fn check_rule_name(name: &str) -> Result<(), BadGateRule> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_name = (1..=LONGEST_RULE_NAME).contains(&name.len()) && name.bytes().all(is_letter);
    // These name what a whole block or request is judged by.
    if is_name && !["label", "provenance", "key_label", "header_label"].contains(&name) {
        return Ok(());
    }
    Err(BadGateRule::Name(name.to_owned()))
}

/// An expression without the edges of words at its ends, and whether they were there.
fn without_edges(regex: &str) -> (&str, (bool, bool)) {
    let (inner, begins) = regex.strip_prefix(r"\b").map_or((regex, false), |inner| (inner, true));
    // A backslash before the last one takes its meaning away, and alternatives have ends of their own.
    let is_plain = |inner: &str| !inner.ends_with('\\') && !inner.contains('|');
    let ends = inner.strip_suffix(r"\b").filter(|inner| is_plain(inner));
    let (inner, ends) = ends.map_or((inner, false), |inner| (inner, true));
    if inner.contains('|') || gate_regex(inner).is_err() {
        return (regex, (false, false));
    }
    (inner, (begins, ends))
}

/// An expression with the edges that the table's rules have: letters of other scripts hide nothing.
fn with_edges(inner: &str, (begins, ends): (bool, bool)) -> String {
    let edge = |is_there: bool| if is_there { EDGE } else { "" };
    format!("{}{inner}{}", edge(begins), edge(ends))
}

/// An expression of a project, within its bounds.
pub fn gate_regex(written: &str) -> Result<Regex, BadGateRule> {
    if written.len() > LONGEST_GATE_REGEX {
        return Err(BadGateRule::Long);
    }
    let compiled = RegexBuilder::new(written).size_limit(COMPILED_BYTES).build();
    let regex = compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => BadGateRule::Large,
        // The first lines of the message draw the expression, and the last one says what is wrong with it.
        error => {
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default();
            BadGateRule::Syntax(last.trim_start_matches("error: ").to_owned())
        }
    })?;
    if regex.is_match("") { Err(BadGateRule::Empty) } else { Ok(regex) }
}

fn set_of(written: impl Iterator<Item = String>) -> Result<RegexSet, BadGateRule> {
    let limit = COMPILED_BYTES * MOST_GATE_RULES;
    regex::RegexSetBuilder::new(written).size_limit(limit).build().map_err(|_| BadGateRule::Large)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_sensitive;

    /// An example of the table with its characters.
    fn example(written: &str) -> String {
        let mut text = String::new();
        let mut rest = written;
        while let Some((before, after)) = rest.split_once('<') {
            text.push_str(before);
            let Some((name, number)) = after.split_once('>').and_then(|(inside, _)| inside.split_once(':'))
            else {
                text.push('<');
                rest = after;
                continue;
            };
            let letters = match name {
                "mixed" => "a1B2c3D4e5",
                "letters" => "aBcDeFgHiJ",
                "upper" => "A1B2",
                "hex" => "0a1b2c3d",
                "bech" => "QPZRY9X8",
                other => panic!("{other}"),
            };
            text.extend(letters.chars().cycle().take(number.parse().unwrap()));
            rest = after.split_once('>').unwrap().1;
        }
        text + rest
    }

    #[test]
    fn every_format_of_the_table_is_told_from_what_resembles_it() {
        for row in table().rule {
            assert!(!row.found.is_empty() && !row.left.is_empty(), "{} has no examples", row.name);
            for written in &row.found {
                let text = example(written);
                let is_open = row.name == "private_key";
                for text in
                    [text.clone(), format!("use `{text}` now"), format!("a=\"{text}\","), format!("{text}\n")]
                {
                    let found = find_sensitive(&text);
                    let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
                    assert_eq!(rules, [row.name.as_str()], "{text}");
                    let left = text.len() - found[0].range.len();
                    assert!(is_open || left <= text.len() / 2, "{text} {found:?}");
                }
            }
            for written in &row.left {
                let text = example(written);
                let found = find_sensitive(&text);
                assert!(found.iter().all(|finding| finding.rule != row.name), "{text} {found:?}");
            }
        }
    }

    #[test]
    fn the_rules_of_a_project_are_bounded_and_checked() {
        let rule = |name: &str, label, regex: &str| OwnRule { name: name.into(), label, regex: regex.into() };
        let ticket = || rule("ticket", Sensitivity::Restricted, r"\bACME-[0-9]{4}\b");
        let fault =
            |rules: Vec<OwnRule>, allow: Vec<String>| GateRules::new(rules, Vec::new(), allow).unwrap_err();
        assert_eq!(
            fault(vec![rule("a b", Sensitivity::Private, "x")], Vec::new()),
            BadGateRule::Name("a b".into())
        );
        assert_eq!(fault(vec![ticket(), ticket()], Vec::new()), BadGateRule::NameTaken("ticket".into()));
        let known = rule("iban", Sensitivity::Private, "x");
        assert_eq!(fault(vec![known], Vec::new()), BadGateRule::NameTaken("iban".into()));
        assert_eq!(fault(vec![rule("a", Sensitivity::Public, "x")], Vec::new()), BadGateRule::Public);
        for (regex, error) in [
            ("x".repeat(LONGEST_GATE_REGEX + 1), BadGateRule::Long),
            (r"\w{1000}{100}".to_owned(), BadGateRule::Large),
            ("x*".to_owned(), BadGateRule::Empty),
        ] {
            assert_eq!(fault(vec![rule("a", Sensitivity::Private, &regex)], Vec::new()), error);
            assert_eq!(fault(Vec::new(), vec![regex]), error);
        }
        assert!(matches!(fault(Vec::new(), vec!["(?=x)".into()]), BadGateRule::Syntax(_)));
        assert!(matches!(fault(Vec::new(), vec!["a)|(b".into()]), BadGateRule::Syntax(_)));
        let many = vec!["x".to_owned(); MOST_GATE_RULES + 1];
        assert_eq!(GateRules::new(Vec::new(), many, Vec::new()), Err(BadGateRule::Many));
    }

    #[test]
    fn a_project_adds_rules_and_lists_values_that_are_no_secrets() {
        let own =
            OwnRule { name: "ticket".into(), label: Sensitivity::Private, regex: r"ACME-[0-9]{4}|\b".into() };
        let allow = vec!["AKIAIOSFODNN7EXAMPLE".to_owned()];
        let rules = GateRules::new(vec![own], allow, vec!["ACME-0{4}|.*@example\\.com".into()]).unwrap();
        let found = |text: &str| -> Vec<String> {
            rules.find(text).iter().map(|finding| text[finding.range.clone()].to_owned()).collect()
        };
        assert_eq!(found("see ACME-1234 and ACME-0000é"), ["ACME-1234"]);
        assert_eq!(found("use AKIAIOSFODNN7EXAMPLE or AKIAIOSFODNN7EXAMPL2"), ["AKIAIOSFODNN7EXAMPL2"]);
        assert_eq!(found("a@example.com, a@example.org"), ["a@example.org"]);
        assert_eq!(found("ACME\u{200b}-1234"), ["ACME\u{200b}-1234"]);
    }
}
