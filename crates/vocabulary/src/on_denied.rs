//! What follows when governance or the gate denies the prompt of a node.

use stave_shape::Shape;

/// Who takes a denied prompt. A denied prompt is never sent, whatever the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Shape)]
#[shape(words, name = "OnDenied")]
pub enum OnDenied {
    /// The run ends as refused.
    #[default]
    Fail,
    /// The node fails like any other: its error port takes the failure, and an item of a list
    /// that collects errors fails alone.
    ErrorPort,
    /// The static response of the fallback is the answer. No other model is asked.
    Fallback,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_flow_format() {
        let words: Vec<&str> = OnDenied::ALL.iter().map(|one| one.word()).collect();
        assert_eq!(words, ["fail", "error_port", "fallback"]);
    }
}
