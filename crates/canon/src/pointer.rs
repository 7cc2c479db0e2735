//! JSON Pointers (RFC 6901): building them while reading, and finding their place in a text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::MAX_DEPTH;
use crate::scan::Scanner;

/// A pointer that grows while a document is read and shrinks on the way back.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer(String);

impl Pointer {
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The pointer one step further, to an object's member.
    #[must_use]
    pub fn key(&self, key: &str) -> Pointer {
        let mut pointer = String::with_capacity(self.0.len() + 1 + key.len());
        pointer.push_str(&self.0);
        pointer.push('/');
        if key.contains(['~', '/']) {
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        } else {
            pointer.push_str(key);
        }
        Pointer(pointer)
    }

    /// The pointer one step further, to an array's item.
    #[must_use]
    pub fn index(&self, index: usize) -> Pointer {
        Pointer(format!("{}/{index}", self.0))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> String {
        pointer.0
    }
}

impl From<&Pointer> for String {
    fn from(pointer: &Pointer) -> String {
        pointer.0.clone()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The byte range in `text` of the value that `pointer` names; of duplicate keys the last is meant, as in
/// [`crate::parse`]. A pointer that leads nowhere gives the deepest value on its way, so that a fault about
/// a missing key still has a place. `None` when the text breaks off before that value ends.
///
/// The text is scanned anew, since places are wanted only for faults and a document should not carry them
/// all along.
#[must_use]
pub fn locate(text: &str, pointer: &str) -> Option<Range<usize>> {
    walk(text, pointer).and_then(|found| value_range(text, found.start))
}

/// The byte range in `text` of the key, with its quotes, of the member that `pointer` names. `None` when
/// the pointer names no member of an object.
#[must_use]
pub fn locate_key(text: &str, pointer: &str) -> Option<Range<usize>> {
    walk(text, pointer).filter(|found| found.complete).and_then(|found| found.key)
}

/// The tokens of a pointer, unescaped. Text before the first slash is no part of any pointer.
pub(crate) fn tokens(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(|token| {
        if token.contains('~') {
            Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
        } else {
            Cow::Borrowed(token)
        }
    })
}

/// The item a token names: digits without a leading zero.
pub(crate) fn item_index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if plain { token.parse().ok() } else { None }
}

#[derive(Debug, Clone)]
struct Found {
    key: Option<Range<usize>>,
    /// Where the value begins.
    start: usize,
    /// Whether every token of the pointer was followed.
    complete: bool,
}

/// Finds the places of many pointers in one text. The items of a list that the text's outermost object
/// holds are found in one pass, so that a fault in each of them does not scan the text once for each.
#[derive(Debug)]
pub struct Locator<'t> {
    text: &'t str,
    /// Where the items of each such list begin.
    lists: BTreeMap<String, Vec<usize>>,
}

impl<'t> Locator<'t> {
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Locator { text, lists: BTreeMap::new() }
    }

    /// What [`locate`] finds.
    pub fn locate(&mut self, pointer: &str) -> Option<Range<usize>> {
        let mut steps = tokens(pointer);
        let (Some(list), Some(index)) = (steps.next(), steps.next().and_then(|token| item_index(&token)))
        else {
            return locate(self.text, pointer);
        };
        let text = self.text;
        let starts = self.lists.entry(list.into_owned()).or_insert_with_key(|list| items(text, list));
        match starts.get(index) {
            Some(start) => {
                let start = Found { key: None, start: *start, complete: true };
                value_range(text, follow(text, start, steps).start)
            }
            None => locate(text, pointer),
        }
    }
}

/// Where the items of the list at `key` of the outermost object begin; none when there is no such list.
fn items(text: &str, key: &str) -> Vec<usize> {
    let mut outermost = Scanner::new(text);
    if outermost.peek() != Some(b'{') {
        return Vec::new();
    }
    let Some(list) = member(&mut outermost, key) else { return Vec::new() };
    let mut scanner = Scanner::starting_at(text, list.start);
    let mut starts = Vec::new();
    if !scanner.eat(b'[') {
        return starts;
    }
    while scanner.peek().is_some_and(|byte| !matches!(byte, b']' | b',')) {
        starts.push(scanner.offset());
        if scanner.skip(MAX_DEPTH).is_err() || !scanner.eat(b',') {
            break;
        }
    }
    starts
}

fn walk(text: &str, pointer: &str) -> Option<Found> {
    let mut scanner = Scanner::new(text);
    scanner.peek()?;
    let start = Found { key: None, start: scanner.offset(), complete: true };
    Some(follow(text, start, tokens(pointer)))
}

/// Continues from a value that was found.
fn follow<'p>(text: &str, start: Found, tokens: impl Iterator<Item = Cow<'p, str>>) -> Found {
    let mut found = start;
    for token in tokens {
        let mut inside = Scanner::starting_at(text, found.start);
        let next = match inside.peek() {
            Some(b'{') => member(&mut inside, &token),
            Some(b'[') => item_index(&token).and_then(|index| item(&mut inside, index)),
            _ => None,
        };
        match next {
            Some(next) => found = next,
            None => return Found { complete: false, ..found },
        }
    }
    found
}

/// The last member called `wanted` before the object ends or its text breaks off.
fn member(scanner: &mut Scanner<'_>, wanted: &str) -> Option<Found> {
    let mut found = None;
    scanner.eat(b'{');
    while scanner.peek() == Some(b'"') {
        let key_start = scanner.offset();
        let Ok(key) = scanner.string() else { break };
        let key_range = key_start..scanner.offset();
        if !scanner.eat(b':') || scanner.peek().is_none() {
            break;
        }
        if key == wanted {
            found = Some(Found { key: Some(key_range), start: scanner.offset(), complete: true });
        }
        if scanner.skip(MAX_DEPTH).is_err() || !scanner.eat(b',') {
            break;
        }
    }
    found
}

fn item(scanner: &mut Scanner<'_>, wanted: usize) -> Option<Found> {
    scanner.eat(b'[');
    for _ in 0..wanted {
        scanner.skip(MAX_DEPTH).ok()?;
        if !scanner.eat(b',') {
            return None;
        }
    }
    let here = scanner.peek().filter(|byte| *byte != b']')?;
    (here != b',').then(|| Found { key: None, start: scanner.offset(), complete: true })
}

fn value_range(text: &str, start: usize) -> Option<Range<usize>> {
    let mut scanner = Scanner::starting_at(text, start);
    scanner.skip(MAX_DEPTH).ok()?;
    Some(start..scanner.offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "a": [10, {"b/c": true, "~": null}], "a": [[1], {"b/c" : "é", "~": [ ]}] }"#;

    fn located(pointer: &str) -> &'static str {
        &TEXT[locate(TEXT, pointer).unwrap()]
    }

    #[test]
    fn pointers_find_the_last_of_duplicate_keys() {
        assert_eq!(located("/a/0/0"), "1");
        assert_eq!(located("/a/1/b~1c"), r#""é""#);
        assert_eq!(located("/a/1/~0"), "[ ]");
        assert_eq!(located(""), TEXT);
    }

    #[test]
    fn a_pointer_that_leads_nowhere_gives_the_deepest_value_on_its_way() {
        assert_eq!(located("/missing"), TEXT);
        assert_eq!(located("/a/0/7/x"), "[1]");
        assert_eq!(located("/a/first"), r#"[[1], {"b/c" : "é", "~": [ ]}]"#);
        assert_eq!(located("/a/00"), located("/a"));
        assert_eq!(located("/a/1/~0/0"), "[ ]");
        assert_eq!(located("/a/0/0/deeper"), "1");
    }

    #[test]
    fn many_pointers_are_found_where_each_alone_is() {
        let broken = r#"{"a": [1, {"b": 2}, "#;
        for text in [TEXT, broken, "", "[1]", r#"{"a": {"0": 1}}"#, r#"{"a": [] }"#, r#"{"a": [,]}"#] {
            let mut locator = Locator::new(text);
            for pointer in
                ["", "/a", "/a/0", "/a/0/0", "/a/1/b~1c", "/a/1/~0", "/a/1/b", "/a/2", "/a/9/x", "/b/0", "/0"]
            {
                assert_eq!(locator.locate(pointer), locate(text, pointer), "{pointer} in {text}");
            }
        }
    }

    #[test]
    fn keys_have_places_of_their_own() {
        assert_eq!(&TEXT[locate_key(TEXT, "/a/1/b~1c").unwrap()], r#""b/c""#);
        assert_eq!(locate_key(TEXT, "/a/0"), None);
        assert_eq!(locate_key(TEXT, "/a/1/missing"), None);
        assert_eq!(locate_key(TEXT, ""), None);
    }

    #[test]
    fn values_as_deep_as_the_reader_allows_are_found() {
        let text = format!("{{\"k\":{}1{}}}", "[".repeat(MAX_DEPTH - 1), "]".repeat(MAX_DEPTH - 1));
        crate::parse(&text).unwrap();
        assert_eq!(&text[locate(&text, &format!("/k{}", "/0".repeat(MAX_DEPTH - 1))).unwrap()], "1");
    }

    #[test]
    fn broken_text_has_places_up_to_where_it_breaks() {
        assert_eq!(locate("", ""), None);
        assert_eq!(locate("[1, ", ""), None);
        assert_eq!(locate("[1, ", "/0"), Some(1..2));
        assert_eq!(locate("[1, ", "/1"), None);
        assert_eq!(locate("[1, ,", "/1"), None);
        assert_eq!(locate(r#"{"a": 1, "b": "\ud800"}"#, "/a"), Some(6..7));
    }
}
