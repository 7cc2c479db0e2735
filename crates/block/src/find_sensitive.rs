//! Finds keys, tokens and personal data by what they look like.
//!
//! Invariants: what a reader sees as one key or number is found as a whole, whatever characters without width, spaces,
//! dashes or digits of other scripts it is written with. The time is linear in the text and in what is found in it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use serde::Deserialize;

use crate::Sensitivity;
use crate::as_seen::{as_seen, in_text, is_edge};

/// A stretch of text that a rule recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveMatch {
    pub rule: &'static str,
    pub label: Sensitivity,
    pub range: Range<usize>,
}

#[derive(Debug, Deserialize)]
struct Table {
    rule: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    label: String,
    regex: String,
    check: Option<String>,
}

struct Rule {
    name: String,
    label: Sensitivity,
    regex: Regex,
    holds: fn(&str) -> bool,
    /// Whether it begins and ends at the edge of a word.
    edges: (bool, bool),
}

struct Rules {
    set: RegexSet,
    each: Vec<Rule>,
}

/// How many matches are looked at before the time is.
const MATCHES_PER_LOOK: usize = 1024;

/// The edge of a word, as the rules write it.
const EDGE: &str = r"(?-u:\b)";

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(str::to_owned));

/// The rules without the edges of words, for texts that were joined: what stood before and after a text was another one.
static EDGELESS: LazyLock<Rules> = LazyLock::new(|| Rules::read(|regex| regex.replace(EDGE, "")));

impl Rules {
    fn read(written: impl Fn(&str) -> String) -> Rules {
        let table: Table = crate::rules::embedded(include_str!("../data/sensitivity.toml"), "sensitivity");
        let set = RegexSet::new(table.rule.iter().map(|row| written(&row.regex)));
        let each = table.rule.into_iter().map(|row| {
            Some(Rule {
                label: Sensitivity::from_word(&row.label)?,
                regex: Regex::new(&written(&row.regex)).ok()?,
                holds: match row.check.as_deref() {
                    None => |_| true,
                    Some("luhn") => luhn,
                    Some("iban") => iban,
                    Some(_) => return None,
                },
                edges: (row.regex.trim_start_matches("(?i)").starts_with(EDGE), row.regex.ends_with(EDGE)),
                name: row.name,
            })
        });
        let each: Option<Vec<Rule>> = each.collect();
        debug_assert!(each.is_some() && set.is_ok(), "the embedded rules are valid");
        Rules { set: set.unwrap_or_default(), each: each.unwrap_or_default() }
    }

    /// What the rules find in a text, rule by rule; `None` once there is no more time.
    fn matches(&'static self, text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<SensitiveMatch>> {
        let mut found: Vec<SensitiveMatch> = Vec::new();
        if is_late() {
            return None;
        }
        for rule in self.set.matches(text).into_iter().filter_map(|index| self.each.get(index)) {
            let (mut at, mut count) = (0, 0_usize);
            while let Some(matched) = rule.regex.find_at(text, at) {
                if count.is_multiple_of(MATCHES_PER_LOOK) && is_late() {
                    return None;
                }
                count += 1;
                if (rule.holds)(matched.as_str()) {
                    found.push(SensitiveMatch {
                        rule: &rule.name,
                        label: rule.label,
                        range: matched.range(),
                    });
                    at = matched.end();
                } else {
                    // The digits of a match that fails its check can contain a valid number. Numbers are short.
                    at = matched.start() + matched.as_str().chars().next().map_or(1, char::len_utf8);
                }
            }
        }
        Some(found)
    }
}

/// The sensitive stretches of a text, in order and without overlap; the more closed label wins, then the
/// earlier stretch.
#[must_use]
pub fn find_sensitive(text: &str) -> Vec<SensitiveMatch> {
    find_sensitive_until(text, &|| false).unwrap_or_default()
}

/// The same for a caller that has no time to lose; `None` once `is_late` says so, which each rule asks.
#[must_use]
pub fn find_sensitive_until(text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<SensitiveMatch>> {
    find_by(&RULES, text, is_late)
}

/// The same in a text that was joined from several, where no letter beside a stretch is known to belong to it. For
/// stretches that are in two of the texts or more: inside one text, edges of words count.
#[must_use]
pub fn find_sensitive_joined(text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<SensitiveMatch>> {
    find_by(&EDGELESS, text, is_late)
}

fn find_by(rules: &'static Rules, text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<SensitiveMatch>> {
    let mut found = rules.matches(text, is_late)?;
    if let Some(seen) = as_seen(text) {
        found.extend(find_hidden(rules, text, &seen, is_late)?);
        found = united(found);
    }
    found.sort_by_key(|finding| {
        (std::cmp::Reverse(finding.label), finding.range.start, std::cmp::Reverse(finding.range.end))
    });
    // Those that are kept do not overlap, so only the neighbours of a further one can overlap with it.
    let mut kept: BTreeMap<usize, SensitiveMatch> = BTreeMap::new();
    for finding in found {
        let Range { start, end } = finding.range;
        let before = kept.range(..=start).next_back().is_some_and(|(_, other)| start < other.range.end);
        let after = kept.range(start..).next().is_some_and(|(at, _)| *at < end);
        if !before && !after {
            kept.insert(start, finding);
        }
    }
    Some(kept.into_values().collect())
}

/// What is found in a text as it is seen, with its places in the text. Characters without room are edges of words in
/// the text and are nothing in its view, so the rules are also asked without edges, which the text then has to have.
fn find_hidden(
    rules: &'static Rules,
    text: &str,
    seen: &str,
    is_late: &dyn Fn() -> bool,
) -> Option<Vec<SensitiveMatch>> {
    // What no rule finds without edges, none finds with them.
    let mut found = EDGELESS.matches(seen, is_late)?;
    let edgeless = found.len();
    let has_edges = !std::ptr::eq(rules, &raw const *EDGELESS);
    if has_edges {
        found.extend(rules.matches(seen, is_late)?);
    }
    let stretches: Vec<Range<usize>> = found.iter().map(|finding| finding.range.clone()).collect();
    let places = in_text(text, &stretches);
    for (finding, place) in found.iter_mut().zip(places) {
        finding.range = place;
    }
    let mut number = 0;
    found.retain(|finding| {
        number += 1;
        let edges =
            rules.each.iter().find(|rule| rule.name == finding.rule).map_or((true, true), |rule| rule.edges);
        !has_edges
            || number > edgeless
            || ((!edges.0 || is_edge(text, finding.range.start))
                && (!edges.1 || is_edge(text, finding.range.end)))
    });
    Some(found)
}

/// Findings that overlap become one: each view of a text may see a part of a secret only.
fn united(mut found: Vec<SensitiveMatch>) -> Vec<SensitiveMatch> {
    found.sort_by_key(|finding| (finding.range.start, std::cmp::Reverse(finding.label)));
    let mut united: Vec<SensitiveMatch> = Vec::with_capacity(found.len());
    for finding in found {
        match united.last_mut() {
            Some(last) if finding.range.start < last.range.end => {
                let end = last.range.end.max(finding.range.end);
                if finding.label > last.label {
                    (last.label, last.rule) = (finding.label, finding.rule);
                }
                last.range.end = end;
            }
            _ => united.push(finding),
        }
    }
    united
}

/// The check digit of card numbers.
fn luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, digit * 2) {
            (0, _) => *digit,
            (_, doubled) => doubled / 10 + doubled % 10,
        })
        .sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10)
}

/// The check number of international bank accounts.
fn iban(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|letter| *letter != ' ').collect();
    let Some((head, tail)) = plain.split_at_checked(4) else { return false };
    let remainder = tail.iter().chain(head).try_fold(0_u32, |remainder, letter| {
        let value = letter.to_digit(36)?;
        Some((remainder * if value > 9 { 100 } else { 10 } + value) % 97)
    });
    (15..=34).contains(&plain.len()) && remainder == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_personal_data_are_found() {
        let key = format!("sk-proj-{}", "a1B2".repeat(8));
        for (text, rule) in [
            (format!("use {key} please"), "openai_key"),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "aws_access_key"),
            (format!("token ghp_{}", "x".repeat(36)), "github_token"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----".to_owned(), "private_key"),
            ("postgres://app:hunter2@db/main".to_owned(), "password_in_url"),
            ("card 4111 1111 1111 1111".to_owned(), "payment_card"),
            ("GB82 WEST 1234 5698 7654 32".to_owned(), "iban"),
            ("write to jane.doe@example.com".to_owned(), "email_address"),
            ("call +44 20 7946 0958".to_owned(), "phone_number"),
            ("ssn 078-05-1120".to_owned(), "social_security_number"),
        ] {
            let rules: Vec<&str> = find_sensitive(&text).iter().map(|finding| finding.rule).collect();
            assert_eq!(rules, [rule], "{text}");
        }
    }

    /// The keys are put together here, so that no file of ours holds what a scanner takes for a secret.
    fn key(beginning: &str, letters: &str, count: usize) -> String {
        beginning.to_owned() + &letters.chars().cycle().take(count).collect::<String>()
    }

    #[test]
    fn the_formats_of_known_keys_are_found() {
        let (mixed, plain) = ("a1B2c3D4e5", "aBcDeFgHiJ");
        for (text, rule) in [
            (key("sk_live_", mixed, 24), "stripe_key"),
            (key("sk_test_", mixed, 99), "stripe_key"),
            (key("rk_live_", mixed, 24), "stripe_key"),
            (key("whsec_", mixed, 32), "stripe_key"),
            (key("ghs_", mixed, 36), "github_token"),
            (key("github_pat_", mixed, 82), "github_token"),
            (key("glpat-", mixed, 20), "gitlab_token"),
            (key("glrt-", mixed, 20), "gitlab_token"),
            (key("xoxb-123456789012-", mixed, 24), "slack_token"),
            (key("xapp-1-A0123456789-", mixed, 24), "slack_token"),
            (key("https://hooks.slack.com/services/T01234567/B01234567/", mixed, 24), "slack_webhook"),
            (key("npm_", mixed, 36), "npm_token"),
            (key("pypi-AgEIcHlwaS5vcmc", mixed, 120), "pypi_token"),
            (key("hf_", plain, 34), "hugging_face_token"),
            (key("SG.", mixed, 22) + &key(".", mixed, 43), "sendgrid_key"),
            (key("AccountKey=", mixed, 86) + "==", "azure_connection_key"),
            (key("SharedAccessKey=", mixed, 43) + "=", "azure_connection_key"),
            (key("a1B8Q~", mixed, 34), "azure_client_secret"),
            (
                key("https://x.blob.core.windows.net/a?sv=1&sig=", mixed, 43) + "%3D",
                "azure_shared_access_signature",
            ),
            (key("AIza", mixed, 35), "google_api_key"),
            (key("GOCSPX-", mixed, 28), "google_oauth"),
            (key("ya29.", mixed, 60), "google_oauth"),
            (key("ASIA", "A1B2", 16), "aws_access_key"),
            (key("aws_secret_access_key = ", mixed, 40), "aws_secret_key"),
            (key("\"awsSecretKey\": \"", mixed, 40), "aws_secret_key"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl".to_owned(), "private_key"),
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ".to_owned(), "private_key"),
        ] {
            for text in [text.clone(), format!("use `{text}` now")] {
                let rules: Vec<&str> = find_sensitive(&text).iter().map(|finding| finding.rule).collect();
                assert_eq!(rules, [rule], "{text}");
            }
        }
    }

    #[test]
    fn what_only_resembles_a_key_is_left() {
        for text in [
            "sk_live_ is the prefix of a live key",
            "sk_live_xxxx",
            "pk_live_a1B2c3D4e5a1B2c3D4e5a1B2",
            "hf_hub_download(repo_id, filename)",
            "hf_transfer_is_enabled_by_default_in_this_version",
            "npm_config_registry and npm_lifecycle_event",
            "npm_package_dependencies_with_a_very_long_name_in_it",
            "pypi-attestations and pypi-server-with-a-very-long-name-that-nobody-would-write-down",
            "glpat-short",
            "glibc-2.39-compatible-headers",
            "SG.1 and SG.2.3 are sections",
            "xoxo-love",
            "https://hooks.slack.com/services/",
            "AccountKey=<your key>",
            "aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}",
            "the aws secret key is forty characters long",
            "AIzaSy is how keys of Google begin",
            "ya29.",
            "AKIA1234",
            "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "sha512-a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5==",
            "123e4567-e89b-12d3-a456-426614174000",
            "/page?sig=short=",
        ] {
            assert_eq!(find_sensitive(text), [], "{text}");
        }
    }

    #[test]
    fn letters_of_another_script_hide_nothing() {
        for text in ["ключAKIAIOSFODNN7EXAMPLE", "é4111 1111 1111 1111", "鍵sk-proj-a1B2a1B2a1B2a1B2a1B2"]
        {
            assert_eq!(find_sensitive(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn what_hides_between_the_characters_of_a_secret_is_cut_with_it() {
        let hiders = [
            "\u{200b}", "\u{200c}", "\u{200d}", "\u{2060}", "\u{ad}", "\u{feff}", "\u{fe0f}", "\u{202e}",
            "\u{2066}", "\u{34f}",
        ];
        let secrets = [
            ("4111111111111111", "payment_card"),
            ("AKIAIOSFODNN7EXAMPLE", "aws_access_key"),
            ("sk-proj-a1B2a1B2a1B2a1B2a1B2", "openai_key"),
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "github_token"),
            ("jane.doe@example.com", "email_address"),
            ("078-05-1120", "social_security_number"),
        ];
        for hider in hiders {
            for (secret, rule) in secrets {
                let letters: Vec<String> = secret.chars().map(String::from).collect();
                let spread = letters.join(hider);
                let (head, tail) = secret.split_at(secret.len() - 3);
                for hidden in [spread, format!("{head}{hider}{tail}")] {
                    for (before, after) in [("", ""), ("use ", " now"), ("word", "word"), ("é", "é")] {
                        let (before, after) = (format!("{before}{hider}"), format!("{hider}{after}"));
                        let text = format!("{before}{hidden}{after}");
                        let found = find_sensitive(&text);
                        assert_eq!(found.len(), 1, "{text:?}");
                        assert_eq!(found[0].rule, rule);
                        assert!(
                            found[0].range.start <= before.len()
                                && found[0].range.end >= before.len() + hidden.len(),
                            "{text:?}: {found:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn spaces_dashes_and_digits_of_other_kinds_are_found_and_cut_whole() {
        for card in [
            "4111\u{a0}1111\u{a0}1111\u{a0}1111",
            "4111\u{2009}1111\u{202f}1111\u{2007}1111",
            "4111\u{3000}1111\u{205f}1111\u{200a}1111",
            "4111\u{2011}1111\u{2013}1111\u{2212}1111",
            "４１１１ １１１１ １１１１ １１１１",
            "٤١١١ ١١١١ ١١١١ ١١١١",
            "४१११११११११११११११",
            "𝟒𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏",
            "4\u{fe0f}\u{20e3}111111111111111",
            "⑷①①①①①①①①①①①①①①①",
        ] {
            let text = format!("pay {card}, please");
            let found = find_sensitive(&text);
            assert_eq!(found.len(), 1, "{card}");
            assert_eq!((found[0].rule, &text[found[0].range.clone()]), ("payment_card", card));
        }
        assert_eq!(find_sensitive("ＡＫＩＡIOSFODNN7EXAMPLE").len(), 1);
        assert_eq!(find_sensitive("écoutez\u{a0}: « non » – 12\u{202f}345\u{a0}€"), []);
    }

    #[test]
    fn a_number_before_a_card_does_not_hide_it() {
        let text = "5555 4111 1111 1111 1111";
        let found = find_sensitive(text);
        assert_eq!(found.len(), 1);
        assert_eq!(&text[found[0].range.clone()], "4111 1111 1111 1111");
    }

    #[test]
    fn a_caller_without_time_is_told_nothing() {
        assert_eq!(find_sensitive_until("AKIAIOSFODNN7EXAMPLE", &|| true), None);
    }

    #[test]
    fn ordinary_text_is_not_sensitive() {
        for text in ["", "order 1234 5678 9012 3456", "GB00 WEST 1234 5698 7654 32", "sk-short", "a @ b"] {
            assert_eq!(find_sensitive(text), [], "{text}");
        }
    }

    #[test]
    fn a_key_is_found_whatever_stands_before_it() {
        let keys = [
            "AKIAIOSFODNN7EXAMPL2",
            "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
            "sk-ant-api03-abcdefghijklmnopqrstuvwx",
            "sk-abcdefghijklmnopqrstuvwxyz012345",
            "glpat-abcdefghij0123456789",
        ];
        for key in keys {
            for before in ["key ", r"keys:\n", r"a\t", "\u{1b}[31m", "token%3D", "MY_", "2", ""] {
                let text = format!("{before}{key} end");
                let found = find_sensitive(&text);
                assert!(
                    found.iter().any(|found| text[found.range.clone()].contains(key)),
                    "{text:?}: {found:?}"
                );
            }
        }
        for text in ["task-3f2a9c0d1e2b3f4a5968", "disk-abcdefghijklmnopqrstuvwxyz"] {
            assert_eq!(find_sensitive(text), [], "{text}");
        }
    }
}
