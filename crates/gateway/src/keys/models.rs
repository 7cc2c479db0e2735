//! Which models a key may ask for.

/// A model's name, in which each `*` stands for any number of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPattern(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a model's name, in which `*` may stand for any characters")]
pub struct BadPattern(String);

impl ModelPattern {
    pub fn new(text: &str) -> Result<ModelPattern, BadPattern> {
        let is_name = !text.is_empty()
            && text.len() <= 200
            && !text.chars().any(|letter| letter.is_whitespace() || letter.is_control() || letter == ',');
        if is_name { Ok(ModelPattern(text.to_owned())) } else { Err(BadPattern(text.to_owned())) }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The pieces between stars are found one after the other, each as early as possible: no input makes this
    /// slower than the product of the two lengths.
    #[must_use]
    pub fn matches(&self, model: &str) -> bool {
        let mut pieces = self.0.split('*');
        let Some(mut rest) = model.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
        let Some(last) = pieces.next_back() else { return rest.is_empty() };
        for piece in pieces {
            match rest.split_once(piece) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters_and_nothing_else_does() {
        let table = [
            ("gpt-4o", "gpt-4o", true),
            ("gpt-4o", "gpt-4o-mini", false),
            ("gpt-4o", "xgpt-4o", false),
            ("gpt-*", "gpt-4o", true),
            ("gpt-*", "gpt-", true),
            ("gpt-*", "claude", false),
            ("*", "", true),
            ("*-mini", "gpt-4o-mini", true),
            ("*-mini", "mini", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*b*c", "a-b-b-c", true),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true),
            ("a**c", "abc", true),
        ];
        for (pattern, model, expected) in table {
            let pattern = ModelPattern::new(pattern).expect("a pattern");
            assert_eq!(pattern.matches(model), expected, "{pattern:?} {model}");
        }
        for bad in ["", "a b", "a,b", "a\n"] {
            assert!(ModelPattern::new(bad).is_err(), "{bad:?}");
        }
    }
}
