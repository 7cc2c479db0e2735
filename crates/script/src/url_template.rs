//! Addresses with `${…}` in them: each value is encoded for its place.
//!
//! Invariant: a value never changes what it is not the whole of. In a path it is one segment, in a query one
//! component; it can name a scheme, a host or a port only where it is alone in that place. The author's own text
//! decides where each part begins and ends. Checker and clients read addresses here, so both mean the same host.

use stave_canon::percent_encode;

use crate::interpolation::{self, Placeholder, Segment};

/// Why an address cannot be made. No message quotes a value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlTemplateError(pub String);

/// A piece of an address: a character of the author's, or a value that is filled in.
#[derive(Debug, Clone, Copy)]
enum Piece<'t> {
    Written(char),
    Filled(&'t Placeholder),
}

/// The place of a value in an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Scheme,
    /// Everything up to the path.
    Base,
    User,
    /// The whole host, with or without its port.
    Authority,
    Host,
    HostPart,
    Port,
    Path,
    /// Query and fragment.
    Component,
}

/// An address whose parts have been told apart.
#[derive(Debug)]
struct Parts<'t> {
    pieces: Vec<(Piece<'t>, Place)>,
}

/// Whether the written parts of a text make an address, whatever is filled in.
pub fn check(address: &str) -> Result<(), UrlTemplateError> {
    let parsed = interpolation::parse(address).map_err(|_| fail("has a placeholder that is not a path"))?;
    if parsed.sole().is_some() {
        return Ok(());
    }
    Parts::read(&parsed.segments).map(|_| ())
}

/// Fills an address. `value` gives the text of a placeholder, or `None` for an absent optional one.
pub fn fill<E: From<UrlTemplateError>>(
    address: &str,
    mut value: impl FnMut(&Placeholder) -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    let parsed = interpolation::parse(address).map_err(|_| fail("has a placeholder that is not a path"))?;
    if let Some(sole) = parsed.sole() {
        let Some(whole) = value(sole)? else { return Ok(None) };
        plain(&whole)?;
        return Ok(Some(whole));
    }
    let parts = Parts::read(&parsed.segments)?;
    let mut filled = Filled::default();
    for (index, (piece, place)) in parts.pieces.iter().enumerate() {
        match piece {
            Piece::Written(character) => filled.written(*character, *place)?,
            Piece::Filled(placeholder) => {
                if let Some(value) = value(placeholder)? {
                    let next = parts.pieces.get(index + 1).map(|(piece, _)| *piece);
                    filled.value(&value, *place, placeholder, next)?;
                }
            }
        }
    }
    filled.end_segment()?;
    Ok(Some(filled.text))
}

/// Checks an address that is used as it came: a scheme, `://` and a host, without anything that parsers read leniently.
pub fn plain(address: &str) -> Result<(), UrlTemplateError> {
    if address.starts_with(char::is_whitespace) || address.contains(|next: char| next.is_control()) {
        return Err(fail("has white space or a control character that it cannot have"));
    }
    let (scheme, rest) = address.split_once("://").ok_or_else(no_scheme)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    if !is_scheme(scheme) || authority.is_empty() || authority.contains('\\') {
        return Err(no_scheme());
    }
    Ok(())
}

impl<'t> Parts<'t> {
    fn read(segments: &'t [Segment]) -> Result<Parts<'t>, UrlTemplateError> {
        let mut pieces: Vec<Piece<'t>> = Vec::new();
        for segment in segments {
            match segment {
                Segment::Literal(text) => pieces.extend(text.chars().map(Piece::Written)),
                Segment::Placeholder(placeholder) => pieces.push(Piece::Filled(placeholder)),
            }
        }
        // A block of YAML ends with a line feed.
        while matches!(pieces.last(), Some(Piece::Written(last)) if last.is_ascii_whitespace()) {
            pieces.pop();
        }
        if pieces.iter().any(|piece| matches!(piece, Piece::Written(next) if next.is_control())) {
            return Err(fail("has a control character that it cannot have"));
        }
        let is =
            |at: usize, wanted: char| matches!(pieces.get(at), Some(Piece::Written(next)) if *next == wanted);
        let colon = (0..pieces.len()).find(|at| is(*at, ':') && is(at + 1, '/') && is(at + 2, '/'));
        let begins_filled = matches!(pieces.first(), Some(Piece::Filled(_)));
        if begins_filled && colon != Some(1) {
            let places = std::iter::once(Place::Base).chain(path_places(pieces.get(1..).unwrap_or_default()));
            let places: Vec<Place> = places.collect();
            return Ok(Parts { pieces: pieces.into_iter().zip(places).collect() });
        }
        let colon = colon.ok_or_else(no_scheme)?;
        let is_named = pieces.iter().take(colon).all(|piece| match piece {
            Piece::Written(next) => is_scheme_character(*next),
            Piece::Filled(_) => colon == 1,
        });
        if colon == 0 || !is_named {
            return Err(no_scheme());
        }
        let start = colon + 3;
        let end = (start..pieces.len())
            .find(|at| is(*at, '/') || is(*at, '?') || is(*at, '#') || is(*at, '\\'))
            .unwrap_or(pieces.len());
        if start == end || is(end, '\\') {
            return Err(no_scheme());
        }
        let mut places = vec![Place::Scheme; start];
        places.extend(authority_places(pieces.get(start..end).unwrap_or_default())?);
        places.extend(path_places(pieces.get(end..).unwrap_or_default()));
        Ok(Parts { pieces: pieces.into_iter().zip(places).collect() })
    }
}

/// The places between `://` and the path.
fn authority_places(pieces: &[Piece<'_>]) -> Result<Vec<Place>, UrlTemplateError> {
    let is =
        |at: usize, wanted: char| matches!(pieces.get(at), Some(Piece::Written(next)) if *next == wanted);
    if pieces.iter().any(|piece| matches!(piece, Piece::Written(next) if next.is_whitespace())) {
        return Err(no_scheme());
    }
    let host = (0..pieces.len()).rev().find(|at| is(*at, '@')).map_or(0, |at| at + 1);
    let mut places = vec![Place::User; host];
    let bracket = (host..pieces.len()).rev().find(|at| is(*at, ']')).unwrap_or(host);
    let port = (bracket..pieces.len()).find(|at| is(*at, ':')).unwrap_or(pieces.len());
    let place = match (pieces.get(host..port), port == pieces.len()) {
        (Some([Piece::Filled(_)]), true) => Place::Authority,
        (Some([Piece::Filled(_)]), false) => Place::Host,
        _ => Place::HostPart,
    };
    places.extend(std::iter::repeat_n(place, port.saturating_sub(host)));
    places.extend(std::iter::repeat_n(Place::Port, pieces.len() - port));
    Ok(places)
}

/// The places of path, query and fragment.
fn path_places(pieces: &[Piece<'_>]) -> Vec<Place> {
    let mut place = Place::Path;
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if matches!(piece, Piece::Written('?' | '#')) {
            place = Place::Component;
        }
        places.push(place);
    }
    places
}

/// The address as far as it is filled.
#[derive(Debug, Default)]
struct Filled {
    text: String,
    /// Where the segment of the path begins that is being filled.
    segment: usize,
    /// Whether a value is a part of that segment.
    has_value: bool,
}

impl Filled {
    fn written(&mut self, character: char, place: Place) -> Result<(), UrlTemplateError> {
        let ends_segment = place == Place::Path && matches!(character, '/' | '\\');
        let ends_path = place == Place::Component && matches!(character, '?' | '#');
        if ends_segment || ends_path {
            self.end_segment()?;
        }
        self.text.push(character);
        if ends_segment {
            self.segment = self.text.len();
        }
        Ok(())
    }

    fn value(
        &mut self,
        value: &str,
        place: Place,
        placeholder: &Placeholder,
        next: Option<Piece<'_>>,
    ) -> Result<(), UrlTemplateError> {
        let path = &placeholder.path;
        let refuse = |what: &str| Err(UrlTemplateError(format!("has `{path}` {what}")));
        match place {
            Place::Scheme if matches!(value.to_ascii_lowercase().as_str(), "http" | "https") => {
                self.text.push_str(value);
            }
            Place::Scheme => return refuse("as its scheme, which is not http or https"),
            Place::Base => {
                plain(value)?;
                let has_path = value.splitn(4, '/').nth(3).is_some();
                let is_apart = matches!(next, None | Some(Piece::Written('/' | '?' | '#')));
                if value.contains(['?', '#']) || !(has_path || is_apart) {
                    return refuse("as its beginning, which is not a scheme, a host and a path");
                }
                self.text.push_str(value);
                self.segment = if has_path { value.rfind('/').map_or(0, |at| at + 1) } else { value.len() };
                self.has_value = true;
            }
            Place::User => self.text.push_str(&percent_encode(value)),
            Place::Authority | Place::Host => {
                let is_bracketed = value.starts_with('[');
                let is_plain = |next: char| match next {
                    ':' | '[' | ']' => place == Place::Authority || is_bracketed,
                    other => other.is_alphanumeric() || matches!(other, '.' | '-' | '_'),
                };
                if value.is_empty() || !value.chars().all(is_plain) {
                    return refuse("as its host, which is not the name or the address of one");
                }
                self.text.push_str(value);
            }
            Place::HostPart => {
                let is_plain = |next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_');
                if value.is_empty() || !value.chars().all(is_plain) {
                    return refuse("in the name of its host, which takes letters, digits and `-` only");
                }
                self.text.push_str(value);
            }
            Place::Port => {
                if value.is_empty() || value.len() > 5 || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                    return refuse("in its port, which is not a number");
                }
                self.text.push_str(value);
            }
            Place::Path => {
                self.has_value = true;
                self.text.push_str(&percent_encode(value));
            }
            Place::Component => self.text.push_str(&percent_encode(value)),
        }
        Ok(())
    }

    /// Parsers take away segments of one or two dots, so a value must not make one.
    fn end_segment(&mut self) -> Result<(), UrlTemplateError> {
        let segment = self.text.get(self.segment..).unwrap_or_default();
        let dots = segment.to_ascii_lowercase().replace("%2e", ".");
        let has_value = std::mem::take(&mut self.has_value);
        if has_value && matches!(dots.as_str(), "." | "..") {
            return Err(fail("would have a segment of dots, which changes the path"));
        }
        // What follows is no segment until the next slash.
        self.segment = self.text.len();
        Ok(())
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_scheme_character)
}

fn is_scheme_character(next: char) -> bool {
    next.is_ascii_alphanumeric() || matches!(next, '+' | '-' | '.')
}

fn no_scheme() -> UrlTemplateError {
    fail("must begin with a scheme, `://` and a host")
}

fn fail(message: &str) -> UrlTemplateError {
    UrlTemplateError(message.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;
    use crate::address::{host_of, written_host};

    fn filled(address: &str, values: &[&str]) -> Result<String, UrlTemplateError> {
        let mut values = values.iter();
        let fill =
            fill(address, |_| Ok::<_, UrlTemplateError>(values.next().map(|value| (*value).to_owned())));
        fill.map(Option::unwrap_or_default)
    }

    #[test]
    fn a_value_is_encoded_for_its_place() {
        for (address, values, wanted) in [
            ("https://a.example/c/${x}/o", vec!["../plant?"], "https://a.example/c/..%2Fplant%3F/o"),
            ("https://a.example/c/${x}/o", vec!["..%2Fplant"], "https://a.example/c/..%252Fplant/o"),
            ("https://a.example/${x}", vec!["a\\b c#é"], "https://a.example/a%5Cb%20c%23%C3%A9"),
            ("https://a.example/o?id=${x}&n=1", vec!["7&n=2#x"], "https://a.example/o?id=7%26n%3D2%23x&n=1"),
            ("https://a.example/o#${x}", vec!["a b"], "https://a.example/o#a%20b"),
            (
                "https://u:${x}@a.example/",
                vec!["p@evil.example/"],
                "https://u:p%40evil.example%2F@a.example/",
            ),
            ("http://${x}/p", vec!["127.0.0.1:80"], "http://127.0.0.1:80/p"),
            ("http://${x}/p", vec!["[::1]:80"], "http://[::1]:80/p"),
            ("http://${x}:80/p", vec!["bücher.example"], "http://bücher.example:80/p"),
            ("http://${x}.example/p", vec!["eu-1"], "http://eu-1.example/p"),
            ("http://a.example:${x}/p", vec!["8080"], "http://a.example:8080/p"),
            ("${x}://a.example/p", vec!["https"], "https://a.example/p"),
            ("${x}/p/${x}", vec!["https://a.example/v1", "a/b"], "https://a.example/v1/p/a%2Fb"),
            ("${x}?q=${x}", vec!["https://a.example", "a&b"], "https://a.example?q=a%26b"),
            ("${x}", vec!["https://a.example/v1?a=b"], "https://a.example/v1?a=b"),
            ("https://a.example/${x}/..\n", vec!["a"], "https://a.example/a/.."),
        ] {
            assert_eq!(filled(address, &values).as_deref(), Ok(wanted), "{address}");
        }
    }

    #[test]
    fn a_value_that_would_change_another_part_is_refused() {
        for (address, values) in [
            ("https://a.example/c/${x}/o", vec![".."]),
            ("https://a.example/c/${x}", vec!["."]),
            ("https://a.example/c/${x}${x}?q", vec![".", "."]),
            ("https://a.example/c/.${x}/o", vec!["."]),
            ("https://a.example/c/%2e${x}/o", vec!["."]),
            ("https://a.example\\${x}\\o", vec![".."]),
            ("https://${x}/p", vec!["a.example/x"]),
            ("https://${x}/p", vec!["u@a.example"]),
            ("https://${x}/p", vec!["a.example?"]),
            ("https://${x}/p", vec!["a.example\\"]),
            ("https://${x}/p", vec!["a%2Eexample"]),
            ("https://${x}/p", vec![""]),
            ("https://${x}:80/p", vec!["u:p"]),
            ("https://a.example${x}/p", vec![".evil.example"]),
            ("https://a.example${x}", vec!["@evil.example"]),
            ("https://a.example:${x}/p", vec!["80@evil.example"]),
            ("https://a.example:${x}/p", vec!["80/x"]),
            ("${x}://a.example/", vec!["file"]),
            ("${x}://a.example/", vec!["http://evil.example/?"]),
            ("${x}.a.example/", vec!["https://evil"]),
            ("${x}@a.example/", vec!["https://evil.example"]),
            ("${x}/p", vec!["https://evil.example/?"]),
            ("${x}/p", vec!["https://evil.example#"]),
            ("${x}/p", vec!["https:/evil.example"]),
            ("${x}", vec!["http:/127.0.0.1/?x=://localhost/"]),
            ("${x}", vec!["http:\\\\127.0.0.1/"]),
            ("${x}", vec!["http://a\\@b/"]),
            ("${x}", vec![" http://a.example/"]),
            ("${x}", vec!["http://a.\nexample/"]),
            ("http:/127.0.0.1:7801/echo?x=://localhost/", vec![]),
            ("http:\\\\127.0.0.1/", vec![]),
            ("http:///x", vec![]),
            ("//a.example/", vec![]),
            ("ht\ntp://a.example/", vec![]),
        ] {
            assert!(
                filled(address, &values).is_err(),
                "{address} {values:?}: {:?}",
                filled(address, &values)
            );
        }
    }

    proptest! {
        #[test]
        fn no_value_changes_what_the_author_wrote(
            value in prop_oneof![any::<String>(), "[./\\\\?#@:%&=2eE]{0,8}"],
        ) {
            let templates = [
                "https://a.example:8443/one/${x}/three?q=${x}&r=1#f",
                "https://user:${x}@a.example:8443/one/${x}x/three?${x}&r=1#f",
            ];
            for template in templates {
                let Ok(address) = filled(template, &[&value, &value, &value]) else { continue };
                let url = Url::parse(&address).unwrap();
                prop_assert_eq!(url.host_str(), Some("a.example"));
                let written = written_host(template).map(|host| host.name().to_owned());
                prop_assert_eq!(host_of(&address), written.or_else(|| Some("a.example".to_owned())));
                prop_assert_eq!(url.port(), Some(8443));
                prop_assert_eq!(url.path_segments().unwrap().count(), 3);
                prop_assert!(url.path().starts_with("/one/") && url.path().ends_with("/three"), "{}", url);
                prop_assert_eq!(url.query_pairs().count(), 2 - usize::from(value.is_empty() && template.contains("?${")));
                prop_assert_eq!(url.fragment(), Some("f"));
            }
        }
    }
}
