//! Secrets are named, not written into the file.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::subject::Subject;
use crate::model::{Text, Transform};

/// How keys and tokens of well-known services begin, with the fewest characters that must follow.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("ghp_", 30),
    ("gho_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
    ("AIza", 30),
    ("hf_", 30),
];

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    for node in subject.nodes() {
        let mut texts: Vec<&Text> = Vec::new();
        let operation = node.transform.as_ref().and_then(Transform::operation);
        if let Some(args) = operation.and_then(|operation| operation.args.as_ref()) {
            args.each_text(&mut |text| texts.push(text));
        }
        texts.extend(node.transform.as_ref().and_then(Transform::code));
        if let Some(prompt) = node.prompt.as_ref() {
            texts.extend(prompt.system.iter().chain(&prompt.template));
            texts.extend(prompt.model.iter().filter_map(|model| model.endpoint.as_ref()));
        }
        for text in texts {
            let Some(range) = secret(text.as_str()) else { continue };
            let message = "this looks like a secret";
            diagnostics.push(
                Diagnostic::new(codes::LITERAL_SECRET, text.at(range), message)
                    .help("keep it outside the flow and write `${secrets.NAME}`"),
            );
        }
    }
}

/// Where a text has something that looks like a key or a token.
fn secret(text: &str) -> Option<std::ops::Range<usize>> {
    if let Some(at) =
        text.find("-----BEGIN ").filter(|at| text.get(*at..).is_some_and(|rest| rest.contains("PRIVATE KEY")))
    {
        return Some(at..at + "-----BEGIN ".len());
    }
    let word = |next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_');
    PREFIXES.iter().find_map(|(prefix, least)| {
        text.match_indices(prefix).find_map(|(at, _)| {
            let begins = !text.get(..at)?.ends_with(word);
            let rest = text.get(at + prefix.len()..)?;
            let length = rest.find(|next: char| !word(next)).unwrap_or(rest.len());
            let digits = rest.get(..length)?.bytes().any(|byte| byte.is_ascii_digit());
            (begins && digits && length >= *least).then(|| at..at + prefix.len() + length)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::secret;

    #[test]
    fn keys_are_told_from_words() {
        for text in
            ["Bearer sk-abcdefghijklmnopqrst0123", "AKIAABCDEFGHIJKLMNO1", "-----BEGIN RSA PRIVATE KEY-----"]
        {
            assert!(secret(text).is_some(), "{text}");
        }
        for text in [
            "sk-short",
            "task-list-of-many-things-1234567890",
            "sk-this-is-only-a-long-slug-of-words",
            "Bearer ${secrets.KEY}",
        ] {
            assert!(secret(text).is_none(), "{text}");
        }
    }
}
