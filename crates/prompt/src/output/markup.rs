//! Checks of answers in Markdown and XML: the parts that are required, and that elements are closed.

use super::ReplyProblem;

/// What an answer in Markdown lacks: every field is a heading, whatever its level, case and underscores.
pub(super) fn markdown(answer: &str, fields: &[String]) -> Vec<ReplyProblem> {
    let mut headings = Vec::new();
    let mut in_fence = false;
    for line in answer.lines().map(str::trim) {
        if line.starts_with("```") {
            in_fence = !in_fence;
        }
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !in_fence && (1..=6).contains(&level) && title.starts_with([' ', '\t']) {
            headings.push(plain(title.trim_end_matches('#')));
        }
    }
    let missing = fields.iter().filter(|field| !headings.contains(&plain(field)));
    missing.map(|field| ReplyProblem::whole(format!("the heading `{field}` is missing"))).collect()
}

fn plain(title: &str) -> String {
    title.trim().trim_matches(['*', ':']).replace('_', " ").to_lowercase()
}

/// What is wrong with an answer in XML: elements that are not closed, and fields that are no element.
pub(super) fn xml(answer: &str, fields: &[String]) -> Vec<ReplyProblem> {
    let mut problems = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut closed: Vec<&str> = Vec::new();
    for tag in tags(answer) {
        match tag {
            Tag::Open(name) => open.push(name),
            Tag::Empty(name) => closed.push(name),
            Tag::Close(name) => match open.iter().rposition(|one| *one == name) {
                Some(at) => {
                    let inner = open.split_off(at);
                    for unclosed in inner.iter().skip(1) {
                        problems.push(unclosed_in(&open, name, unclosed));
                    }
                    closed.push(name);
                }
                None => problems.push(ReplyProblem {
                    pointer: place(&open),
                    message: format!("`</{name}>` closes an element that is not open"),
                }),
            },
        }
    }
    for (at, name) in open.iter().enumerate() {
        let pointer = place(open.get(..at).unwrap_or_default());
        problems.push(ReplyProblem { pointer, message: format!("the element `{name}` is not closed") });
    }
    let is_missing = |field: &&String| !closed.contains(&field.as_str()) && !open.contains(&field.as_str());
    let missing = fields.iter().filter(is_missing);
    problems.extend(missing.map(|field| ReplyProblem::whole(format!("the element `{field}` is missing"))));
    problems
}

fn unclosed_in(open: &[&str], parent: &str, name: &str) -> ReplyProblem {
    let pointer = format!("{}/{parent}", place(open));
    ReplyProblem { pointer, message: format!("the element `{name}` is not closed") }
}

fn place(open: &[&str]) -> String {
    open.iter().map(|name| format!("/{name}")).collect()
}

enum Tag<'t> {
    Open(&'t str),
    Close(&'t str),
    /// An element without content.
    Empty(&'t str),
}

/// The tags of a text. Comments, CDATA sections and declarations are not tags, nor is `<` before anything but a name.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")];
        if let Some((_, end)) = skipped.iter().find(|(start, _)| after.starts_with(start)) {
            rest = after.split_once(end).map_or("", |(_, after)| after);
            continue;
        }
        let (is_close, inside) = match after.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, after),
        };
        let length = inside.find(|sign: char| !is_name(sign)).unwrap_or(inside.len());
        let starts = inside.starts_with(|sign: char| sign.is_alphabetic() || sign == '_');
        let (name, tail) = inside.split_at_checked(length).unwrap_or((inside, ""));
        let follows = tail.starts_with(|sign: char| sign.is_whitespace() || matches!(sign, '>' | '/'));
        let end = end_of_tag(tail).filter(|_| starts && follows);
        let Some(end) = end else {
            rest = after;
            continue;
        };
        let is_empty = tail.get(..end).is_some_and(|attributes| attributes.ends_with('/'));
        found.push(match (is_close, is_empty) {
            (true, _) => Tag::Close(name),
            (false, true) => Tag::Empty(name),
            (false, false) => Tag::Open(name),
        });
        rest = tail.get(end + 1..).unwrap_or_default();
    }
    found
}

fn is_name(sign: char) -> bool {
    sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.' | ':')
}

/// Where the `>` of a tag is, after its attributes.
fn end_of_tag(tail: &str) -> Option<usize> {
    let mut quote = None;
    for (at, sign) in tail.char_indices() {
        match (quote, sign) {
            (Some(open), sign) if sign == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(sign),
            (None, '>') => return Some(at),
            (None, '<') => return None,
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(problems: &[ReplyProblem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn headings_are_compared_as_a_reader_sees_them() {
        let fields = ["system_design".to_owned(), "Risks".to_owned()];
        assert!(markdown("# System design\ntext\n### **Risks**\n", &fields).is_empty());
        let found = markdown("# Risky\n```\n# Risks\n```\nSystem design\n", &fields);
        assert_eq!(
            texts(&found),
            ["the heading `system_design` is missing", "the heading `Risks` is missing"]
        );
    }

    #[test]
    fn elements_are_found_with_attributes_and_must_be_closed() {
        let fields = ["plan".to_owned(), "risk".to_owned()];
        let whole =
            "<?xml version=\"1.0\"?><plan kind=\"a>b\"><!-- <x> --><risk/>1 < 2<![CDATA[<y>]]></plan>";
        assert_eq!(texts(&xml(whole, &fields)), [""; 0]);
        let broken = "<plan><step>one</plan></other>";
        assert_eq!(
            texts(&xml(broken, &fields)),
            [
                "/plan: the element `step` is not closed",
                "`</other>` closes an element that is not open",
                "the element `risk` is missing"
            ]
        );
        assert_eq!(texts(&xml("<plan><risk>", &[])).len(), 2);
    }
}
