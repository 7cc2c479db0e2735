//! The names that are bound at a place of a template.

/// Names bound by the template itself, innermost last.
#[derive(Debug, Default)]
pub(super) struct Scopes<'t> {
    frames: Vec<Vec<&'t str>>,
}

impl<'t> Scopes<'t> {
    pub(super) fn new() -> Self {
        Scopes { frames: vec![Vec::new()] }
    }

    pub(super) fn bind(&mut self, name: &'t str) {
        if let Some(frame) = self.frames.last_mut() {
            frame.push(name);
        }
    }

    pub(super) fn enter(&mut self) {
        self.frames.push(Vec::new());
    }

    pub(super) fn leave(&mut self) {
        self.frames.pop();
    }

    pub(super) fn binds(&self, name: &str) -> bool {
        self.frames.iter().flatten().any(|bound| *bound == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'t str> {
        self.frames.iter().flatten().copied()
    }
}
