//! Prompt templates: static analysis and rendering.

use stave_canon::Object;
use stave_diag::{Diagnostic, Embedded};
use thiserror::Error;

use crate::UsedPath;

/// Everything that can be said about a template without rendering it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateCheck {
    pub diagnostics: Vec<Diagnostic>,
    /// Paths from names of the scope: `customer_data.age`.
    pub paths: Vec<UsedPath>,
}

/// Checks a template against the names it may use.
#[must_use]
pub fn check_template(text: &Embedded, scope: &[&str]) -> TemplateCheck {
    let _ = (text, scope);
    TemplateCheck::default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderLimits {
    /// Steps of the template machine.
    pub fuel: u64,
    pub output_bytes: usize,
}

impl Default for RenderLimits {
    fn default() -> Self {
        RenderLimits { fuel: 5_000_000, output_bytes: 4 * 1024 * 1024 }
    }
}

/// Why a template gave no text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct RenderError {
    pub message: String,
    /// The bytes of the template at fault, when known.
    pub range: Option<std::ops::Range<usize>>,
}

/// Renders templates and remembers their compiled form.
#[derive(Debug)]
pub struct Renderer {
    limits: RenderLimits,
}

impl Renderer {
    #[must_use]
    pub fn new(limits: RenderLimits) -> Self {
        Renderer { limits }
    }

    pub fn render(&self, template: &str, context: &Object) -> Result<String, RenderError> {
        let _ = (template, context, self.limits);
        Err(RenderError { message: String::new(), range: None })
    }
}

/// Renders one template once. Use a [`Renderer`] for a template that is rendered again.
pub fn render(template: &str, context: &Object, limits: RenderLimits) -> Result<String, RenderError> {
    Renderer::new(limits).render(template, context)
}
