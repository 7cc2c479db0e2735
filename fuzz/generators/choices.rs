//! Choices drawn from a stream of bytes: the same bytes make the same choices, so a fuzzer can steer them and a finding
//! can be found again.

/// Draws choices from bytes; an empty stream draws zeroes.
pub(crate) struct Choices<'b> {
    bytes: &'b [u8],
}

impl<'b> Choices<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Choices { bytes }
    }

    pub(crate) fn byte(&mut self) -> usize {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }

    pub(crate) fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices.get(self.byte() % choices.len().max(1)).copied().unwrap_or_default()
    }
}
