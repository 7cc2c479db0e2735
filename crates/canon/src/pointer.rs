//! JSON Pointers (RFC 6901): building them while reading, and finding their place in a text.

use std::fmt;

use jiter::{Jiter, Peek};

/// A pointer that grows while a document is read and shrinks on the way back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pointer(String);

impl Pointer {
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The pointer one step further, to an object's member.
    #[must_use]
    pub fn key(&self, key: &str) -> Pointer {
        Pointer(format!("{}/{}", self.0, key.replace('~', "~0").replace('/', "~1")))
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

impl fmt::Display for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// The byte range in `text` of the value that `pointer` names. A pointer that leads nowhere gives the
/// deepest value on its way, so that a fault about a missing key still has a place. The text is scanned
/// anew, since places are wanted only for faults and a document should not carry them all along.
#[must_use]
pub fn locate(text: &str, pointer: &str) -> Option<std::ops::Range<usize>> {
    let mut jiter = Jiter::new(text.as_bytes());
    let mut peek = jiter.peek().ok()?;
    let mut tokens = pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    loop {
        let start = jiter.current_index();
        let Some(token) = tokens.next() else {
            jiter.known_skip(peek).ok()?;
            return Some(start..jiter.current_index());
        };
        let whole = || {
            let mut rest = Jiter::new(&text.as_bytes()[start..]);
            rest.next_skip().ok().map(|()| start..start + rest.current_index())
        };
        let found = match peek {
            Peek::Object => member(&mut jiter, &token)?,
            Peek::Array => item(&mut jiter, token.parse().ok()?)?,
            _ => None,
        };
        match found {
            Some(next) => peek = next,
            None => return whole(),
        }
    }
}

fn member(jiter: &mut Jiter<'_>, wanted: &str) -> Option<Option<Peek>> {
    let mut found = jiter.known_object().ok()?.map(|key| key == wanted);
    while let Some(is_wanted) = found {
        let peek = jiter.peek().ok()?;
        if is_wanted {
            return Some(Some(peek));
        }
        jiter.known_skip(peek).ok()?;
        found = jiter.next_key().ok()?.map(|key| key == wanted);
    }
    Some(None)
}

fn item(jiter: &mut Jiter<'_>, wanted: usize) -> Option<Option<Peek>> {
    let mut next = jiter.known_array().ok()?;
    let mut index = 0;
    while let Some(peek) = next {
        if index == wanted {
            return Some(Some(peek));
        }
        jiter.known_skip(peek).ok()?;
        next = jiter.array_step().ok()?;
        index += 1;
    }
    Some(None)
}
