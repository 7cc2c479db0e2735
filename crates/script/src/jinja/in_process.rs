//! Rendering of plain templates in the calling process.
//!
//! Invariant: what is rendered here is cheap whatever the template and its values are. A step of a plain
//! template costs at most a small multiple of the size of its context, and the larger the context is, the
//! fewer steps there are. A template that is not plain or needs more steps is not rendered here at all.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use stave_canon::{Number, Object, Value};

use super::pieces::RenderedPiece;
use super::plain::{Plain, plain};
use super::render::{Fault, RenderError, RenderLimits, Renderer};
use super::syntax;

/// How many verdicts about templates are kept before they are forgotten.
const KEPT: usize = 512;
/// Up to which size of the context, in bytes, how many steps are taken: at most 2^28 bytes of work.
const STEPS: [(usize, u64); 4] = [(4 << 10, 65_536), (64 << 10, 4_096), (1 << 20, 256), (usize::MAX, 64)];
/// The largest context whose values are copied by filters.
const MAX_COPIED: usize = 1 << 20;

/// Renders plain templates.
#[derive(Debug)]
pub struct InProcess {
    /// One renderer for each row of [`STEPS`].
    renderers: [Renderer; STEPS.len()],
    verdicts: RwLock<HashMap<String, Option<Plain>>>,
}

impl InProcess {
    #[must_use]
    pub fn new(limits: RenderLimits) -> Self {
        let renderer = |(_, fuel): (usize, u64)| Renderer::new(RenderLimits { fuel, ..limits });
        InProcess { renderers: STEPS.map(renderer), verdicts: RwLock::default() }
    }

    /// The rendered pieces; `None` when a worker has to render the template.
    pub fn render_pieces(
        &self,
        template: &str,
        context: &Object,
    ) -> Option<Result<Vec<RenderedPiece>, RenderError>> {
        let plain = self.verdict(template)?;
        let size = object_size(context);
        if plain == Plain::Filters && size > MAX_COPIED {
            return None;
        }
        let row = STEPS.iter().position(|(bytes, _)| size <= *bytes)?;
        match self.renderers.get(row)?.pieces(template, context) {
            Ok(pieces) => Some(Ok(pieces)),
            Err(Fault::OutOfFuel) => None,
            Err(Fault::Failed(error)) => Some(Err(error)),
        }
    }

    fn verdict(&self, template: &str) -> Option<Plain> {
        if let Some(known) = self.verdicts.read().unwrap_or_else(PoisonError::into_inner).get(template) {
            return *known;
        }
        // A worker reports what is wrong with a text that has no tree.
        let verdict = syntax::tree(template).ok().and_then(|tree| plain(&tree));
        let mut verdicts = self.verdicts.write().unwrap_or_else(PoisonError::into_inner);
        if verdicts.len() >= KEPT {
            verdicts.clear();
        }
        verdicts.insert(template.to_owned(), verdict);
        verdict
    }
}

/// Roughly the bytes of the object's JSON.
fn object_size(object: &Object) -> usize {
    object.iter().map(|(key, value)| key.len() + 4 + size(value)).sum::<usize>() + 2
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(Number::Big(digits)) => digits.len(),
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(object) => object_size(object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(text: &str) -> Object {
        stave_canon::parse(text).unwrap().as_object().unwrap().clone()
    }

    #[test]
    fn a_plain_template_is_rendered_here_and_any_other_is_not() {
        let here = InProcess::new(RenderLimits::default());
        let context = context(r#"{"q": "why", "xs": [1, 2]}"#);
        let text = |template| {
            let pieces = here.render_pieces(template, &context)?.unwrap();
            Some(pieces.into_iter().map(|piece| piece.text).collect::<String>())
        };
        assert_eq!(text("Q: {{ q | upper }}").as_deref(), Some("Q: WHY"));
        assert_eq!(text("{% for x in xs %}{{ x }},{% endfor %}").as_deref(), Some("1,2,"));
        assert_eq!(text("{{ q | indent(2) }}"), None);
        assert_eq!(text("{{ q "), None);
    }

    #[test]
    fn a_template_that_needs_many_steps_is_not_rendered_here() {
        let here = InProcess::new(RenderLimits::default());
        let mut context = Object::new();
        context.insert("xs".to_owned(), Value::Array(vec![Value::from(1); 400]));
        let nested = "{% for a in xs %}{% for b in xs %}{% if a > b %}x{% endif %}{% endfor %}{% endfor %}";
        assert!(here.render_pieces(nested, &context).is_none());
        assert!(here.render_pieces("{% for a in xs %}{{ a }}{% endfor %}", &context).is_some());
    }

    #[test]
    fn filters_do_not_copy_a_large_context_here() {
        let here = InProcess::new(RenderLimits::default());
        let mut context = Object::new();
        context.insert("text".to_owned(), Value::from("x".repeat(2 << 20)));
        assert!(here.render_pieces("{{ text | upper }}", &context).is_none());
        assert!(here.render_pieces("{{ text }}", &context).is_some());
    }
}
