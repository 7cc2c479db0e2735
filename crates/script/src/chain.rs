//! A lexical upper bound on how deep an expression's tree becomes.
//!
//! The parsers bound their own recursion, but they build `a + a + a …` and `a.b.c…` in a loop, and the
//! tree is as deep as the chain is long. Walking or dropping such a tree would exhaust the stack, so a
//! text is measured by its tokens before a tree is made of it.

/// How deep a tree may become. The interpreter refuses deeper Python by itself.
pub(crate) const MAX_DEPTH: u32 = 200;

/// Follows brackets and operators token by token.
#[derive(Debug)]
pub(crate) struct Chain {
    levels: Vec<Level>,
    too_deep: bool,
}

/// One bracket: the depth of the operand being read, and of the deepest one before it.
#[derive(Debug, Default, Clone, Copy)]
struct Level {
    here: u32,
    deepest: u32,
}

impl Chain {
    pub(crate) fn new() -> Self {
        Chain { levels: vec![Level::default()], too_deep: false }
    }

    /// An operator, a dot or a postfix bracket makes the operand before it one level deeper.
    pub(crate) fn link(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.here += 1;
            self.too_deep |= level.here > MAX_DEPTH;
        }
    }

    /// A comma, a colon or a line end: what follows is beside what came before, not above it.
    pub(crate) fn separate(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.deepest = level.deepest.max(level.here);
            level.here = 0;
        }
    }

    pub(crate) fn open(&mut self) {
        self.link();
        self.levels.push(Level::default());
        self.too_deep |= self.levels.len() > MAX_DEPTH as usize;
    }

    pub(crate) fn close(&mut self) {
        if self.levels.len() < 2 {
            return;
        }
        let inner = self.levels.pop().unwrap_or_default();
        if let Some(level) = self.levels.last_mut() {
            level.here = level.here.max(inner.deepest.max(inner.here) + 1);
            self.too_deep |= level.here > MAX_DEPTH;
        }
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        self.too_deep
    }
}

/// The last word or sign of a text, for a fault at its end, where nothing can be seen.
pub(crate) fn last_word(text: &str) -> std::ops::Range<usize> {
    let text = text.trim_end();
    let word = text.trim_end_matches(|character: char| character.is_alphanumeric() || character == '_');
    let sign = text.chars().next_back().map_or(0, char::len_utf8);
    word.len().min(text.len() - sign)..text.len()
}
