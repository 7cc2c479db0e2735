//! One template from start to end.
//!
//! The allocator ends the process at the memory bound, and the pool ends it at the deadline; steps and the
//! size of the text are the engine's to count.

use std::panic::{AssertUnwindSafe, catch_unwind};

use stave_canon::{Object, Value};
use stave_script::protocol::{JobFailure, WorkerLimits, WorkerReply};
use stave_script::{Limit, RenderLimits, Renderer};

/// Renders a template over the fields of `context`.
pub(crate) fn render(template: &str, context: Value, bounds: &WorkerLimits) -> WorkerReply {
    let fields = match context {
        Value::Object(fields) => fields,
        _ => Object::new(),
    };
    let limits = RenderLimits { output_bytes: bounds.output_bytes, ..RenderLimits::default() };
    // The engine panics when the size of a text it is asked for is no size at all: `indent(2**62)`.
    let rendered = catch_unwind(AssertUnwindSafe(|| Renderer::new(limits).render_pieces(template, &fields)));
    match rendered {
        Ok(outcome) => WorkerReply::Rendered(outcome),
        Err(_) => {
            let detail = "the template engine cannot make a value of this size".to_owned();
            WorkerReply::Failed(JobFailure::LimitExceeded { limit: Limit::Memory, detail, range: None })
        }
    }
}
