//! The text of a key: `stave_`, its public id, and 256 random bits.

use stave_canon::Ids;
use stave_llm::Secret;

const PREFIX: &str = "stave_";
const ID_DIGITS: usize = 12;
const SECRET_DIGITS: usize = 64;

/// A text with the form of a key.
pub(super) struct KeyText<'t> {
    text: &'t str,
    id: &'t str,
}

impl<'t> KeyText<'t> {
    pub(super) fn read(text: &'t str) -> Option<KeyText<'t>> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_hex = |text: &str, digits: usize| {
            text.len() == digits
                && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
        };
        (is_hex(id, ID_DIGITS) && is_hex(secret, SECRET_DIGITS)).then_some(KeyText { text, id })
    }

    pub(super) fn id(&self) -> &'t str {
        self.id
    }

    pub(super) fn hash(&self) -> [u8; 32] {
        stave_canon::sha256(self.text)
    }
}

/// A fresh id for a key.
pub(super) fn fresh_id(ids: &dyn Ids) -> String {
    format!("{:032x}", ids.fresh())[..ID_DIGITS].to_owned()
}

/// A fresh text for the key with this id.
pub(super) fn fresh_text(id: &str, ids: &dyn Ids) -> Secret {
    Secret::new(format!("{PREFIX}{id}_{:032x}{:032x}", ids.fresh(), ids.fresh()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stave_canon::CountingIds;

    #[test]
    fn a_fresh_text_is_read_back_and_others_are_not() {
        let ids = CountingIds::new();
        let id = fresh_id(&ids);
        let text = fresh_text(&id, &ids);
        let text = text.expose();
        assert_eq!(KeyText::read(text).map(|read| read.id().to_owned()), Some(id));
        let long = format!("{text}0");
        let upper = text.to_uppercase();
        for other in ["", "stave_", "sk-1234", &text[1..], &text[..text.len() - 1], &long, &upper] {
            assert!(KeyText::read(other).is_none(), "{other}");
        }
    }
}
