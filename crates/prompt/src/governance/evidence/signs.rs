//! Signs of an attack that say nothing alone: roles that are forged, requests to hide something, to send secrets
//! away, to answer as the text wants.
//!
//! They are looked for near an instruction only, outside of code and quotations.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use super::TextSource;
use super::markup::Markup;

/// Signs in any text.
static ANYWHERE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    expressions(&[
        // A role or a border that the text forges.
        r"<\|[a-z_]{2,20}\|>|\[/?inst\]|<</?sys>>|</?(system|system[_-]prompt|admin|developer)>",
        r"(?m)^[\s#>*\-\[(=]{0,8}(system|developer|admin(istrator)?)(\s+(message|prompt|override|note|notice|update|alert|instructions?))?\s*[\])=]{0,3}\s*:",
        r"(?-u:\b)(end|start|begin|beginning) of (the )?(system )?(prompt|document|context|user (input|query|message)|instructions|conversation|data)(?-u:\b)",
        r"(?-u:\b)new (system )?(instructions?|prompt|directives?|orders)( for you)?\s*(:|are(?-u:\b)|is(?-u:\b))",
        // What has to stay hidden.
        r"(?-u:\b)(do not|don.?t|never|without)\W+(tell|telling|mention|mentioning|inform|informing|alert|alerting|notify|notifying)(?-u:\b)(\W+\w+){0,4}?\W+(user|human|owner|operator|anyone|anybody)(?-u:\b)",
        // What has to leave.
        r"(?-u:\b)(send|post|forward|upload|e-?mail|exfiltrate|transmit|submit|leak)\W+(\w+\W+){0,8}?(credentials?|passwords?|api[ _-]?keys?|secrets|tokens|conversation|chat history|private keys?|environment variables|ssh keys?|session cookies?|credit card)(?-u:\b)",
        // What the model has to be.
        r"(?-u:\b)(unrestricted|unfiltered|uncensored|no longer (bound|restricted|limited|constrained)|jailbr(oken|eak)|do anything now|amoral|god mode)(?-u:\b)",
        r"(?-u:\b)(no|without any|zero|ignore)\W+(ethical|moral|content|safety)\W+(\w+\W+)?(guidelines|restrictions|limits|limitations|filters|polic(y|ies)|constraints|rules)(?-u:\b)",
        r"(?-u:\b)(you )?(must|shall|will|always) (obey|comply with|answer) (me|all|every|any|everything|anything|whatever)(?-u:\b)|(?-u:\b)(never|not|cannot) (refuse|decline)(?-u:\b)",
        // What it has to show.
        r"(?-u:\b)your (full |entire |exact |complete )?(system|initial|hidden|original|developer|internal|secret|confidential) (prompt|message|instructions|configuration|rules)(?-u:\b)",
        r#"(?-u:\b)(verbatim|word for word|(starting|beginning) (with|from) .?you are)(?-u:\b)"#,
    ])
});

/// Signs in a text that was brought: it speaks to the model.
static BROUGHT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    expressions(&[
        r"(?-u:\b)(reply|respond|answer|say|output|print|write|return)\W+(only|just|exactly|nothing but)(?-u:\b)|(?-u:\b)(just|only|simply)\W+(reply|respond|answer|say|output|print|write)(?-u:\b)",
        r"(?-u:\b)(tell|inform) the user (that|to)(?-u:\b)",
        r"(?-u:\b)(call|use|invoke|run|execute)\W+(the\W+)?[`']?\w+[`']?\W+(tool|function|command|shell)(?-u:\b)",
        r"(?-u:\b)(you are now|from now on,? you|you (will|must|shall) now)(?-u:\b)",
        r"(?-u:\b)your (new|real|actual|true|only|next|updated|sole) (task|goal|job|instructions?|purpose|role|objective|mission|priority)(?-u:\b)",
        r"(?-u:\b)(approve|accept|hire|recommend) this (candidate|applicant|application|request|paper|pull request|resume|product)(?-u:\b)",
        r#"(?m)(^|[.!?>:"]\s{0,3})(hey |dear |attention |important |note |to )?(the |any |all )?(ai|llms?|assistant|chatgpt|claude|gpt|chatbot|(ai|language) (assistant|model|agent)s?)\s*[:,!]"#,
        r"!\[[^\]]{0,80}\]\(https?://|(?-u:\b)(curl|wget) ",
    ])
});

/// The phrase of attacks: not these instructions or mine, but all of them, and something to do instead.
static DROPS_ALL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"^\w+\W+(all|any|every)\W+(of\W+)?((the|your|these|those|previous|prior|above|earlier|preceding|other|system|existing|safety)\W+)+\w+$|^\w+\W+(your|the\W+system)\W",
    )
});
static COMMANDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"^\W{1,4}(and\W+|then\W+|now\W+|instead\W+|but\W+|please\W+|just\W+|only\W+|so\W+)*(you|your|from now|do|follow|execute|call|run|send|transfer|delete|print|output|reply|respond|answer|say|write|tell|approve|mark|rate|give|open|visit|click|download|e-?mail|forward|wire|act|obey|use|create|set|recommend|buy|order|pay|grant|add|append|include|insert|read|fetch|search|upload|post|publish|start|stop|change|update|remove|export|schedule|book|classify|summari[sz]e|translate)(?-u:\b)",
    )
});

/// Whether an instruction drops all others and commands something in their place.
pub(super) fn commands(text: &str, hit: &Range<usize>) -> bool {
    let (Some(matched), Some(after)) = (text.get(hit.clone()), text.get(hit.end..)) else { return false };
    let after = after.get(..after.floor_char_boundary(120)).unwrap_or_default();
    let says = |expression: &Option<Regex>, part: &str| {
        expression.as_ref().is_some_and(|expression| expression.is_match(part))
    };
    says(&DROPS_ALL, matched) && says(&COMMANDS, after)
}

/// Whether there is a sign in a part of a text, beside the instructions themselves.
pub(super) fn are_in(
    text: &str,
    part: &Range<usize>,
    instructions: &[Range<usize>],
    markup: &Markup,
    source: TextSource,
) -> bool {
    let brought: &[Regex] = if source == TextSource::Brought { &BROUGHT } else { &[] };
    let is_apart = |start: usize, end: usize| {
        let at = instructions.partition_point(|instruction| instruction.end <= start);
        instructions.get(at).is_none_or(|instruction| instruction.start >= end)
    };
    markup.outside(part.clone()).into_iter().any(|part| {
        let words = text.get(part.clone()).unwrap_or_default();
        ANYWHERE.iter().chain(brought).any(|expression| {
            let mut found = expression.find_iter(words);
            found.any(|found| is_apart(part.start + found.start(), part.start + found.end()))
        })
    })
}

/// An expression of ours. One that cannot be used would be our own mistake; a test compiles them all.
pub(super) fn expression(written: &str) -> Option<Regex> {
    let built = RegexBuilder::new(written).case_insensitive(true).build();
    debug_assert!(built.is_ok(), "{built:?}");
    built.ok()
}

fn expressions(written: &[&str]) -> Vec<Regex> {
    written.iter().filter_map(|written| expression(written)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_expression_compiles() {
        assert_eq!(super::ANYWHERE.len(), 11);
        assert_eq!(super::BROUGHT.len(), 8);
        assert!(super::DROPS_ALL.is_some() && super::COMMANDS.is_some());
    }
}
