//! Prompt templates, rendered within bounds whatever their author wrote.
//!
//! A plain template is rendered in this process; every other one goes to a worker, where memory is bounded
//! and which is killed at its deadline.
//!
//! Invariant: this is the only way for a flow's template to be rendered. It gives a text within
//! [`RenderLimits::output_bytes`] or an error.

use std::sync::Arc;

use stave_canon::Object;

use crate::jinja::InProcess;
use crate::{JobLimits, PythonPool, RenderError, RenderLimits, RenderedPiece, ScriptError};

/// Renders the templates of flows.
#[derive(Debug)]
pub struct TemplateRenderer {
    in_process: InProcess,
    workers: Arc<PythonPool>,
    limits: JobLimits,
}

impl TemplateRenderer {
    #[must_use]
    pub fn new(workers: Arc<PythonPool>) -> Self {
        TemplateRenderer::within(workers, JobLimits::DEFAULT)
    }

    /// Renders within other bounds than the usual ones.
    #[must_use]
    pub fn within(workers: Arc<PythonPool>, limits: JobLimits) -> Self {
        let render = RenderLimits { output_bytes: limits.output_bytes, ..RenderLimits::default() };
        TemplateRenderer { in_process: InProcess::new(render), workers, limits }
    }

    /// Renders in pieces, so that the author's text is distinguished from what was filled in.
    pub async fn render_pieces(
        &self,
        template: &str,
        context: &Object,
    ) -> Result<Vec<RenderedPiece>, RenderError> {
        if let Some(outcome) = self.in_process.render_pieces(template, context) {
            return outcome;
        }
        match self.workers.render(template, context, &self.limits).await {
            Ok(outcome) => outcome,
            Err(error) => Err(RenderError { message: explain(&error), range: None }),
        }
    }
}

fn explain(error: &ScriptError) -> String {
    match error {
        ScriptError::LimitExceeded { limit, .. } => {
            format!("the template exceeded its {} limit", limit.word())
        }
        ScriptError::Worker(reason) => format!("the worker that rendered the template failed: {reason}"),
        other => other.to_string(),
    }
}
