//! Whether a place gives the model an instruction or mentions one.
//!
//! An instruction counts as given unless something shows that it is mentioned: the words before it ("users ignore",
//! "how do I override", "must not bypass"), or code or quotation marks around it in a text that is about what they
//! hold. A mark alone is no such sign, since an attack can be in quotation marks as well.
//!
//! Invariant: the work for one place is bounded.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::markup::{Markup, SpanKind};
use super::signs::expression;
use super::{Instruction, TextSource};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    Given,
    Mentioned,
}

/// A text that is read for the stance of its hits.
pub(super) struct Reading<'t> {
    text: &'t str,
    markup: &'t Markup,
    source: TextSource,
}

/// How many bytes of a sentence are read before a hit.
const SENTENCE: usize = 300;

/// How many bytes around code or a quotation say what it is for.
const FRAME: usize = 600;

/// A line of at least this length continues on the next one when nothing ends it.
const WRAPPED: usize = 40;

/// What a text is about that quotes an instruction.
static ABOUT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?-u:\b)(attack\w*|inject\w*|jailbreak\w*|adversar\w*|malicious|hostile|phish\w*|spam|example|e\.g|such as|phrases?|strings?|patterns?|regex\w*|match\w*|detect\w*|classif\w*|flag(s|ged)?|forbid\w*|den(y|ies|ied)|block(s|ed)|means?|meaning|says?|tests?|assert\w*|decode[sd]?|encoded|base64|keywords?|words?)(?-u:\b)",
    )
});

/// What the participants do besides with a quotation, and questions about one.
static TASK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"\?|(?-u:\b)(translat\w*|quot\w*|sentences?|explain\w*|summar\w*|proofread\w*|rewrite|rephrase|paraphrase|correct|spell\w*|grammar|review|e-?mails?|messages?|comments?|text|titles?|titled|headline|paragraph|snippet|code|function|scripts?|wrote|writes?|said|prints?|outputs?|called|named|labels?|rename|format|convert|poem|story|quote|line|lines|tweet|t-?shirt|slide|subtitles?|captions?|scene|dialog(ue)?|lyrics|slogan|fix|refactor|parse|log|logs)(?-u:\b)",
    )
});

/// What the participants do with a text in disguise.
static UNDO: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"\?|(?-u:\b)(decod\w*|encod\w*|base64|hex\w*|rot13|ciphers?|decipher\w*|decrypt\w*|puzzle|unscramble)(?-u:\b)",
    )
});

/// Words in a sentence that reports or asks.
static REPORTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?-u:\b)(attack\w*|inject(s|ed|ion|ions)|jailbreaks?|adversar\w*|malicious|phrases?|such as|e\.g|examples? of|tells|told|says|said|asks|asked|tries|tried|trying|attempts?|whether|why|how)(?-u:\b)",
    )
});

/// A task whose object follows a colon.
static OBJECT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"^\W*(please\W+|can you\W+|could you\W+)?(translat\w*|proofread|paraphrase|rephrase|rewrite|spell-?check|correct|classify|label|explain|define|what does)(?-u:\b)[^:]*:\W*$",
    )
});

/// A sentence that begins with a question word, unless the question is a request.
static QUESTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"^\W*(and\W+|but\W+|so\W+)?(how|why|what|which|when|where|who|whether|if|unless|does|did|is|are|was|were|should)(?-u:\b)",
    )
});

static REQUEST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"^\W*((why|how)\W+(not|about|don.?t you)|what about|if you are an? (ai|llm|language model|assistant|agent|bot))(?-u:\b)",
    )
});

/// A member of a rule that is about such texts.
static RULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r#""(den(y|ied|ies)|forbid\w*|block(ed|s)?|patterns?|regex|match(es)?|attacks?|injections?|keywords?|phrases?|flag(s|ged)?)"\s*:\s*(\[[^\]]*)?"$"#,
    )
});

/// Who or what works without rules when a model is instructed to.
const FREED: [&str; 18] = [
    "answer",
    "answers",
    "respond",
    "reply",
    "act",
    "speak",
    "operate",
    "behave",
    "proceed",
    "everything",
    "anything",
    "freely",
    "mode",
    "ai",
    "model",
    "assistant",
    "questions",
    "requests",
];

/// Words between a subject and its verb.
const ADVERBS: [&str; 18] = [
    "now",
    "just",
    "simply",
    "also",
    "always",
    "completely",
    "fully",
    "safely",
    "still",
    "even",
    "kindly",
    "immediately",
    "quietly",
    "silently",
    "sometimes",
    "often",
    "then",
    "therefore",
];

/// Subjects of a statement.
const SUBJECTS: [&str; 44] = [
    "i",
    "we",
    "they",
    "he",
    "she",
    "it",
    "who",
    "which",
    "that",
    "users",
    "people",
    "attackers",
    "developers",
    "students",
    "drivers",
    "models",
    "chatbots",
    "assistants",
    "agents",
    "llms",
    "clients",
    "customers",
    "callers",
    "programs",
    "scripts",
    "tools",
    "programmers",
    "employees",
    "hackers",
    "children",
    "kids",
    "teams",
    "some",
    "many",
    "most",
    "others",
    "bots",
    "workers",
    "admins",
    "administrators",
    "players",
    "readers",
    "i'd",
    "we'd",
];

/// Who may be made to do something.
const OBJECTS: [&str; 13] = [
    "model",
    "chatbot",
    "assistant",
    "ai",
    "llm",
    "agent",
    "it",
    "them",
    "him",
    "her",
    "bot",
    "chatgpt",
    "claude",
];

const CAUSES: [&str; 16] = [
    "make", "makes", "making", "made", "let", "lets", "letting", "help", "helps", "having", "get", "gets",
    "getting", "trick", "tricks", "tricked",
];

impl<'t> Reading<'t> {
    pub(super) fn new(text: &'t str, markup: &'t Markup, source: TextSource) -> Self {
        Reading { text, markup, source }
    }

    /// The stance of a hit; `earlier` is the hit before it.
    pub(super) fn stance(
        &self,
        instruction: Instruction,
        hit: &Range<usize>,
        is_disguised: bool,
        earlier: Option<(Range<usize>, Stance)>,
    ) -> Stance {
        let span = self.markup.span_at(hit.start).map(|(span, kind)| (span.clone(), kind));
        let shown = match &span {
            Some((span, kind)) => self.is_shown(span, Some(*kind)),
            None => is_disguised && self.is_shown(hit, None),
        };
        if shown {
            return Stance::Mentioned;
        }
        let matched = self.text.get(hit.clone()).unwrap_or_default();
        if is_about_others(instruction, matched) {
            return Stance::Mentioned;
        }
        if is_disguised {
            return Stance::Given;
        }
        let start = span.map_or(0, |(span, _)| span.start);
        let sentence = self.sentence(start, hit.start);
        // What is joined to another instruction is meant as that one.
        if let Some((range, stance)) =
            earlier.filter(|(range, _)| range.start >= sentence.start && range.end <= hit.start)
        {
            let between = self.text.get(range.end..hit.start).unwrap_or_default();
            if joins(between) || (stance == Stance::Mentioned && lists(between)) {
                return stance;
            }
        }
        let sentence = self.text.get(sentence).unwrap_or_default();
        let mentioned = match instruction {
            Instruction::Unbound if !frees(sentence, matched) => true,
            _ => is_mentioned(sentence, matched, self.source),
        };
        if mentioned { Stance::Mentioned } else { Stance::Given }
    }

    /// Whether the text around code or a quotation is about what it holds.
    fn is_shown(&self, span: &Range<usize>, kind: Option<SpanKind>) -> bool {
        let is_brought = self.source == TextSource::Brought;
        // Mails that are brought quote other mails, attacks included, and a disguise has no place in them.
        if is_brought && kind.is_none_or(|kind| kind == SpanKind::QuotedLine) {
            return false;
        }
        let reach = if is_brought { FRAME / 2 } else { FRAME };
        let start = self.text.floor_char_boundary(span.start.saturating_sub(reach));
        let end = self.text.ceil_char_boundary((span.end + reach).min(self.text.len()));
        let around =
            self.markup.outside(start..span.start).into_iter().chain(self.markup.outside(span.end..end));
        let says = |expression: &Option<Regex>, part: &str| {
            expression.as_ref().is_some_and(|expression| expression.is_match(part))
        };
        around.filter_map(|range| self.text.get(range)).any(|part| match kind {
            None => says(&UNDO, part),
            Some(_) => says(&ABOUT, part) || (!is_brought && says(&TASK, part)),
        })
    }

    /// The part of a sentence before a place.
    fn sentence(&self, start: usize, end: usize) -> Range<usize> {
        let first = start.max(self.text.floor_char_boundary(end.saturating_sub(SENTENCE)));
        let before = self.text.get(first..end).unwrap_or_default();
        for (at, sign) in before.char_indices().rev() {
            let after = before.get(at + sign.len_utf8()..).unwrap_or_default();
            let ends = match sign {
                '.' | '!' | '?' | ';' | '\u{2026}' | '\u{3002}' => {
                    let is_short = before
                        .get(..at)
                        .is_some_and(|before| before.ends_with("e.g") || before.ends_with("i.e"));
                    !is_short && !after.starts_with(char::is_alphanumeric)
                }
                '\n' => !goes_on(before.get(..at).unwrap_or_default(), first + at + 1, self.text),
                _ => false,
            };
            if ends {
                return first + at + sign.len_utf8()..end;
            }
        }
        first..end
    }
}

/// Whether a line continues in the next one, which begins at a place: it is long, nothing ends it, and no capital, sign
/// or figure begins the next.
fn goes_on(before: &str, next: usize, text: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_end();
    let is_open = line.len() >= WRAPPED && line.ends_with(|sign: char| sign.is_lowercase() || sign == ',');
    let next = text.get(next..).and_then(|next| next.chars().find(|sign| !matches!(sign, ' ' | '\t')));
    is_open && next.is_some_and(char::is_lowercase)
}

/// Whether the text between two instructions joins them.
fn joins(between: &str) -> bool {
    let mut words = between.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    let joint = words.next();
    joint
        .is_none_or(|joint| ["and", "or", "then", "also"].iter().any(|word| joint.eq_ignore_ascii_case(word)))
        && words.take(3).all(|word| {
            ["then", "to", "also", "now", "please"].iter().any(|known| word.eq_ignore_ascii_case(known))
        })
        && !between.contains(['.', '!', '?', '\n'])
}

/// Whether what matched is about a message or instructions that are not the model's: "the original message".
fn is_about_others(instruction: Instruction, matched: &str) -> bool {
    let lowered = matched.to_lowercase();
    let others = |noun: &str| lowered.ends_with(noun) && lowered.contains("original");
    instruction == Instruction::Reveal
        && !lowered.contains("your")
        && (lowered.ends_with("message") || others("instruction") || others("instructions"))
}

/// Whether the model is instructed to work without rules, rather than anybody or anything else.
fn frees(sentence: &str, matched: &str) -> bool {
    let lowered = sentence.to_lowercase();
    let mut words = lowered.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    let verb = matched.split(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    match verb.as_str() {
        "without" => words.next_back().is_some_and(|word| FREED.contains(&word)),
        "no" => words.next_back().is_some_and(|word| ["you", "now"].contains(&word)),
        _ => true,
    }
}

/// Whether the text between two instructions makes them items of one list.
fn lists(between: &str) -> bool {
    let words = between.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    between.trim_end().ends_with(',') && words.count() <= 3 && !between.contains(['.', '!', '?', '\n'])
}

/// Whether the words before an instruction, and its form, show that it is reported, asked about or forbidden.
fn is_mentioned(sentence: &str, matched: &str, source: TextSource) -> bool {
    let says = |expression: &Option<Regex>| {
        expression.as_ref().is_some_and(|expression| expression.is_match(sentence))
    };
    let lowered = sentence.to_lowercase().replace('\u{2019}', "'");
    let mut words: Vec<&str> = lowered
        .split(|sign: char| !sign.is_alphanumeric() && sign != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    let verb = matched.split(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let begins = words.last().is_some_and(|word| ["start", "begin", "keep", "by"].contains(word));
    if (verb.ends_with("ing") && !begins)
        || verb.ends_with("ed")
        || verb.ends_with("idden")
        || (verb.ends_with('s') && !verb.ends_with("ss"))
    {
        return true;
    }
    if says(&QUESTION) && !says(&REQUEST) {
        return true;
    }
    if says(&RULE) {
        return true;
    }
    let end = sentence.trim_end_matches(|sign: char| sign.is_whitespace() || matches!(sign, '*' | '_' | '~'));
    if end.ends_with(|sign: char| !sign.is_alphanumeric() && sign != '\'') {
        return source == TextSource::Written && end.ends_with(':') && (says(&OBJECT) || says(&REPORTED));
    }
    while words.last().is_some_and(|word| ADVERBS.contains(word)) {
        words.pop();
    }
    let Some(last) = words.pop() else { return false };
    let has = |known: &[&str], count: usize| words.iter().rev().take(count).any(|word| known.contains(word));
    let subject = words.last().copied();
    match last {
        "not" | "never" | "cannot" | "nor" | "without" => true,
        "or" if words
            .iter()
            .any(|word| ["not", "never", "cannot", "no"].contains(word) || word.ends_with("n't")) =>
        {
            true
        }
        _ if last.ends_with("n't") || last == "dont" || last == "cant" => true,
        "please" | "do" => false,
        "you" => subject.is_some_and(|word| {
            [
                "if", "when", "once", "do", "did", "does", "whenever", "unless", "because", "before",
                "after", "should", "how", "why", "that",
            ]
            .contains(&word)
        }),
        "may" | "might" | "can" | "could" | "would" | "to" if says(&REPORTED) => true,
        "may" | "might" | "can" | "could" | "would" => true,
        "will" | "shall" | "must" | "should" => subject.is_some_and(|word| word != "you"),
        "to" => {
            let is_told = has(&["you", "your"], 5)
                || (has(&["model", "assistant", "ai"], 5) && !has(&["attackers", "they", "the"], 5))
                || has(
                    &[
                        "sure",
                        "remember",
                        "necessary",
                        "important",
                        "time",
                        "required",
                        "instructed",
                        "authorized",
                        "free",
                    ],
                    1,
                );
            !is_told
                || has(&["i", "we", "if", "when", "tell", "ask", "get", "trick", "tricks"], 5)
                    && !has(&["you"], 1)
        }
        _ if SUBJECTS.contains(&last) => true,
        _ if OBJECTS.contains(&last) && has(&CAUSES, 6) => true,
        _ => says(&REPORTED),
    }
}
