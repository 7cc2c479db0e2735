//! Finds keys, tokens and personal data by what they look like.
//!
//! Invariants: what a reader sees as one key or number is found as a whole, whatever characters without width, spaces,
//! dashes or digits of other scripts it is written with. The time is linear in the text and in what is found in it.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::Sensitivity;
use crate::as_seen::{as_seen, in_text, in_view, is_edge};
use crate::escaped::Escaped;
use crate::joined_parts::{is_in_one, own_stretch};
use crate::sensitive_rules::{BUILT_IN, EDGELESS, GateRules, RuleSet};

/// A stretch of text that a rule recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensitiveMatch<'r> {
    pub rule: &'r str,
    pub label: Sensitivity,
    pub range: Range<usize>,
    /// Whether much random base64 contains the form by chance.
    pub is_chance: bool,
}

/// A text that was joined from several.
#[derive(Debug, Clone, Copy)]
pub struct JoinedText<'j> {
    pub text: &'j str,
    /// The places of the texts in it, in order.
    pub parts: &'j [Range<usize>],
    /// Whether the edges of words count: they do where no further text may belong to the word.
    pub has_edges: bool,
}

/// How often a joined text is read again, on the whole, where a match is longer than its key.
const READ_AGAIN: usize = 4;

impl RuleSet {
    /// What the rules find in a text, rule by rule; `None` once there is no more time. With parts, only what no part
    /// says alone.
    fn matches<'r>(
        &'r self,
        text: &str,
        parts: Option<&[Range<usize>]>,
        is_late: &dyn Fn() -> bool,
    ) -> Option<Vec<SensitiveMatch<'r>>> {
        let mut found: Vec<SensitiveMatch<'r>> = Vec::new();
        for rule in &self.each {
            if is_late() {
                return None;
            }
            let (mut at, mut count) = (0, 0_usize);
            let mut read_again = READ_AGAIN * text.len();
            let regex = if parts.is_some() { rule.joined() } else { &rule.regex };
            while let Some(matched) = regex.find_at(text, at) {
                if count.is_multiple_of(self.matches_per_look) && is_late() {
                    return None;
                }
                count += 1;
                let first = matched.as_str().chars().next();
                if first.is_none() || !(rule.holds)(matched.as_str()) {
                    // The digits of a match that fails its check can contain a valid number. Numbers are short.
                    let letter = first.or_else(|| text[matched.start()..].chars().next());
                    at = matched.start() + letter.map_or(1, char::len_utf8);
                    if at > text.len() {
                        break;
                    }
                    continue;
                }
                let mut range = matched.range();
                if let Some(parts) = parts {
                    range = own_stretch(rule, text, range, parts);
                    // What comes after the key is searched again, up to a bound. Beyond it, a match is taken as it is.
                    match read_again.checked_sub(matched.end() - range.end) {
                        Some(left) => read_again = left,
                        None => range = matched.range(),
                    }
                    if is_in_one(&range, parts) {
                        at = range.end;
                        continue;
                    }
                }
                at = range.end;
                found.push(SensitiveMatch {
                    rule: &rule.name,
                    label: rule.label,
                    range,
                    is_chance: rule.is_chance,
                });
            }
        }
        Some(found)
    }
}

/// The sensitive stretches of a text by the rules of the table, in order and without overlap; the more closed label
/// wins, then the earlier stretch.
#[must_use]
pub fn find_sensitive(text: &str) -> Vec<SensitiveMatch<'static>> {
    static NONE: std::sync::LazyLock<GateRules> = std::sync::LazyLock::new(GateRules::default);
    NONE.find(text)
}

impl GateRules {
    /// The sensitive stretches of a text, as [`find_sensitive`] has them, with the rules of the project.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<SensitiveMatch<'_>> {
        self.find_until(text, &|| false).unwrap_or_default()
    }

    /// The same for a caller that has no time to lose; `None` once `is_late` says so, which each rule asks.
    #[must_use]
    pub fn find_until(&self, text: &str, is_late: &dyn Fn() -> bool) -> Option<Vec<SensitiveMatch<'_>>> {
        self.find_by(true, text, None, is_late)
    }

    /// What several texts say together and none of them alone.
    ///
    /// A key that is complete in its text ends with its text, whatever letters the next one begins with, unless what
    /// follows cannot be words. A key that is complete from where a text begins does not reach into the text before.
    #[must_use]
    pub fn find_joined(
        &self,
        joined: JoinedText<'_>,
        is_late: &dyn Fn() -> bool,
    ) -> Option<Vec<SensitiveMatch<'_>>> {
        self.find_by(joined.has_edges, joined.text, Some(joined.parts), is_late)
    }

    /// What the escapes of a text hide from its readers, beside what was found in it: the text can be JSON itself, as the
    /// arguments of a call are. Nothing can be taken out of an escaped text with certainty, so the caller refuses it.
    ///
    /// A finding without an escape inside is in the text as written. Escapes hide it only where they take away the edge
    /// of its word, and then nothing was found there.
    #[must_use]
    pub fn find_behind_escapes(
        &self,
        text: &str,
        found: &[SensitiveMatch<'_>],
        is_late: &dyn Fn() -> bool,
    ) -> Option<Vec<SensitiveMatch<'_>>> {
        if memchr::memchr(b'\\', text.as_bytes()).is_none() {
            return Some(Vec::new());
        }
        let read = Escaped::read(text, 0);
        let mut hidden = self.find_until(&read.text, is_late)?;
        for finding in &mut hidden {
            finding.range = read.in_body(&finding.range);
        }
        // Both lists are in order, and the stretches of each are apart.
        hidden.retain(|hidden| {
            let Range { start, end } = hidden.range;
            if text.get(start..end).is_some_and(|stretch| stretch.contains('\\')) {
                let after = found.partition_point(|known| known.range.start <= start);
                let covers = |known: &SensitiveMatch<'_>| known.range.end >= end;
                return !after.checked_sub(1).and_then(|at| found.get(at)).is_some_and(covers);
            }
            let first = found.partition_point(|known| known.range.end <= start);
            let overlaps =
                |known: &SensitiveMatch<'_>| known.range.start < end && known.label >= hidden.label;
            !found
                .get(first..)
                .unwrap_or_default()
                .iter()
                .take_while(|known| known.range.start < end)
                .any(overlaps)
        });
        Some(hidden)
    }

    fn find_by(
        &self,
        has_edges: bool,
        text: &str,
        parts: Option<&[Range<usize>]>,
        is_late: &dyn Fn() -> bool,
    ) -> Option<Vec<SensitiveMatch<'_>>> {
        let rules: &'static RuleSet = if has_edges { &BUILT_IN } else { &EDGELESS };
        let mut found: Vec<SensitiveMatch<'_>> = rules.matches(text, parts, is_late)?;
        let own = if has_edges { &self.own } else { &self.own_edgeless };
        found.extend(own.matches(text, parts, is_late)?);
        if let Some(seen) = as_seen(text) {
            found.extend(self.find_hidden(has_edges, text, &seen, parts, is_late)?);
            self.remove_allowed(text, &mut found);
            found = united(found);
        } else {
            self.remove_allowed(text, &mut found);
        }
        found.sort_by_key(|finding| {
            (std::cmp::Reverse(finding.label), finding.range.start, std::cmp::Reverse(finding.range.end))
        });
        // Those that are kept do not overlap, so only the neighbours of a further one can overlap with it.
        let mut kept: BTreeMap<usize, SensitiveMatch<'_>> = BTreeMap::new();
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

    fn remove_allowed(&self, text: &str, found: &mut Vec<SensitiveMatch<'_>>) {
        found.retain(|finding| text.get(finding.range.clone()).is_none_or(|value| !self.is_allowed(value)));
    }

    /// What is found in a text as it is seen, with its places in the text. Characters without room are edges of words in
    /// the text and are nothing in its view, so the rules are also asked without edges, which the text then has to have.
    fn find_hidden(
        &self,
        has_edges: bool,
        text: &str,
        seen: &str,
        parts: Option<&[Range<usize>]>,
        is_late: &dyn Fn() -> bool,
    ) -> Option<Vec<SensitiveMatch<'_>>> {
        let parts = parts.map(|parts| in_view(text, parts));
        let parts = parts.as_deref();
        // What no rule finds without edges, none finds with them.
        let mut found: Vec<SensitiveMatch<'_>> = EDGELESS.matches(seen, parts, is_late)?;
        found.extend(self.own_edgeless.matches(seen, parts, is_late)?);
        let edgeless = found.len();
        if has_edges {
            found.extend(BUILT_IN.matches(seen, parts, is_late)?);
            found.extend(self.own.matches(seen, parts, is_late)?);
        }
        let stretches: Vec<Range<usize>> = found.iter().map(|finding| finding.range.clone()).collect();
        let places = in_text(text, &stretches);
        for (finding, place) in found.iter_mut().zip(places) {
            finding.range = place;
        }
        let mut number = 0;
        found.retain(|finding| {
            number += 1;
            let mut rules = BUILT_IN.each.iter().chain(&self.own.each);
            let rule = rules.find(|rule| rule.name == finding.rule);
            let edges = rule.map_or((true, true), |rule| rule.edges);
            !has_edges
                || number > edgeless
                || ((!edges.0 || is_edge(text, finding.range.start))
                    && (!edges.1 || is_edge(text, finding.range.end)))
        });
        Some(found)
    }
}

/// Findings that overlap become one: each view of a text may see a part of a secret only.
fn united(mut found: Vec<SensitiveMatch<'_>>) -> Vec<SensitiveMatch<'_>> {
    found.sort_by_key(|finding| (finding.range.start, std::cmp::Reverse(finding.label)));
    let mut united: Vec<SensitiveMatch<'_>> = Vec::with_capacity(found.len());
    for finding in found {
        match united.last_mut() {
            Some(last) if finding.range.start < last.range.end => {
                let end = last.range.end.max(finding.range.end);
                if finding.label > last.label {
                    (last.label, last.rule) = (finding.label, finding.rule);
                    last.is_chance &= finding.is_chance;
                }
                last.range.end = end;
            }
            _ => united.push(finding),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensitive_rules::OwnRule;

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

    #[test]
    fn an_escaped_copy_is_found_beside_a_plain_one() {
        let rules = GateRules::default();
        let hidden = |text: &str| {
            let found = rules.find(text);
            rules.find_behind_escapes(text, &found, &|| false).unwrap().len()
        };
        assert_eq!(hidden(r#"{"a":"AKIAIOSFODNN7EXAMPLF","b":"\u0041KIAIOSFODNN7EXAMPLF"}"#), 1);
        assert_eq!(hidden(r#"{"dsn":"postgres:\/\/app:hunter2@db\/main"}"#), 1);
        assert_eq!(hidden(r#"{"a":"AKIAIOSFODNN7EXAMPLF","b":"\u00e9"}"#), 0);
        assert_eq!(hidden(r#"{"body":"Hello\njane@example.com"}"#), 0);
        assert_eq!(hidden(r"a path C:\new and \d{4} forms"), 0);
        // What is escaped elsewhere in the text changes how the text is seen, and hides nothing here.
        assert_eq!(hidden(r"'http://user:pass@python.org/' x = '\u00a0'"), 0);
        assert_eq!(hidden(r"x = '\u00a0' 'http://user:pass@python.org/'"), 0);
        assert_eq!(hidden(r"x = '\u200b', jane@example.com"), 0);
        assert_eq!(hidden(r"'http:\/\/user:pass@python.org/' x = '\u00a0'"), 1);
    }

    #[test]
    fn a_rule_of_a_project_sees_what_the_tables_rules_see() {
        let rule = OwnRule {
            name: "ticket".to_owned(),
            label: Sensitivity::Restricted,
            regex: r"\bACME-[0-9]{6}\b".to_owned(),
        };
        let rules = GateRules::new(vec![rule], Vec::new(), Vec::new()).unwrap();
        for text in [
            "ACME-123456",
            "éACME-123456é",
            "x\u{200d}ACME-123456\u{200d}x",
            "id\u{200c}ACME-123456",
            "x\u{200b}ACME-12\u{200b}3456",
        ] {
            assert_eq!(rules.find(text).len(), 1, "{text:?}");
        }
        for text in ["xACME-123456", "ACME-1234567"] {
            assert_eq!(rules.find(text), [], "{text:?}");
        }
        let text = r#"{"t":"foo\nACME-123456"}"#;
        assert_eq!(rules.find_behind_escapes(text, &rules.find(text), &|| false).unwrap().len(), 1);
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
        assert_eq!(GateRules::default().find_until("AKIAIOSFODNN7EXAMPLE", &|| true), None);
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

    /// What texts say together, as pieces of each.
    fn together(texts: &[&str]) -> Vec<String> {
        let text = texts.concat();
        let mut at = 0;
        let places: Vec<Range<usize>> = texts
            .iter()
            .map(|part| {
                at += part.len();
                at - part.len()..at
            })
            .collect();
        let rules = GateRules::default();
        let found = |has_edges: bool| -> Vec<String> {
            let joined = JoinedText { text: &text, parts: &places, has_edges };
            let found = rules.find_joined(joined, &|| false).unwrap();
            found.iter().map(|found| text[found.range.clone()].to_owned()).collect()
        };
        let edgeless = found(false);
        assert!(found(true).iter().all(|found| edgeless.contains(found)));
        edgeless
    }

    const NOTHING: [&str; 0] = [];

    #[test]
    fn a_key_that_is_complete_in_its_text_does_not_reach_into_the_next() {
        let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n", "MIIEpAIBAA1CAQEA".repeat(4));
        for key in [
            "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
            "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5",
            "sk-ant-api03-a1B2c3D4e5F6g7H8i9J0k1L2m3",
            "glpat-a1B2c3D4e5F6g7H8i9J0",
            "xoxb-123456789012-a1B2c3D4e5",
            "whsec_a1B2c3D4e5F6g7H8i9J0k1L2m3",
            "ya29.a1B2c3D4e5F6g7H8i9J0",
            "write to jane.doe@example.com",
            "authorization: bearer a1B2c3D4e5F6g7H8i9J0",
            "4111 1111 1111 1111",
            "+44 20 7946 0958",
            &pem,
        ] {
            for next in
                ["Continue", "please wait", "2 apples", "12", "ok-then", "com", "é", ".\n", "Hello-World_2"]
            {
                assert_eq!(together(&[key, next]), NOTHING, "{key} {next}");
                assert_eq!(together(&["hi", key, next, "and", "more"]), NOTHING, "{key} {next}");
                let hidden = format!("{next}\u{200b}");
                assert_eq!(together(&[key, &hidden]), NOTHING, "{key} {next}");
            }
        }
    }

    #[test]
    fn a_key_that_is_complete_from_the_beginning_of_its_text_does_not_reach_back() {
        for key in ["jane.doe@example.com", "postgres://app:hunter2@db/main", "+44 20 7946 0958"] {
            for before in ["Hello", "see", "v1.2", "a-b"] {
                assert_eq!(together(&[before, key]), NOTHING, "{before} {key}");
            }
        }
    }

    #[test]
    fn a_private_key_without_an_end_does_not_cover_the_texts_that_follow() {
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        assert_eq!(together(&[begin, "Continue please", "and", "-----END RSA PRIVATE KEY-----"]), NOTHING);
        let line = "MIIEpAIBAA1CAQEA".repeat(4);
        let rest = format!("{line}\n{line}\nMIIE=\n-----END RSA PRIVATE KEY-----");
        let whole = format!("{begin}\n{rest}");
        assert_eq!(together(&[&format!("{begin}\n"), &rest, "and so"]), [whole.as_str()]);
        assert_eq!(together(&[&whole[..20], &whole[20..90], &whole[90..], "and so"]), [whole.as_str()]);
    }

    #[test]
    fn what_no_text_says_alone_is_found() {
        let key = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
        for at in [3, 10, 20, 27] {
            let (head, tail) = key.split_at(at);
            assert_eq!(together(&["use ", head, tail, " now"]), [key], "{at}");
        }
        // A long rest of a key does not consist of words.
        let (head, tail) = key.split_at(28);
        assert_eq!(together(&[head, tail]), [key]);
        // The next key begins where the first one ends.
        let (head, tail) = key.split_at(12);
        let before = format!("{key}x");
        assert_eq!(together(&[&before, head, tail]).concat().matches(tail).count(), 1);
        for (texts, found) in [
            (&["jane.doe@", "example.com"][..], "jane.doe@example.com"),
            (&["4111 1111 ", "1111 1111"], "4111 1111 1111 1111"),
            (&["AKIAIOSF", "ODNN7EXAMPLE"], "AKIAIOSFODNN7EXAMPLE"),
        ] {
            assert_eq!(together(texts), [found]);
        }
    }

    #[test]
    fn a_joined_text_is_read_again_only_so_often() {
        let key = "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        let texts = vec![key; 200];
        let found = together(&texts);
        // Each key ends with its text until the bound; the rest is one match, which is taken as it is.
        assert_eq!(found.len(), 1);
        assert!(found[0].len() > 190 * key.len(), "{}", found[0].len());
        assert_eq!(together(&texts[..3]), NOTHING);
    }
}
