//! The template engine, bounded in steps and in the size of the text.
//!
//! Invariant: steps are bounded, memory is not, because one step of a template can ask for any amount of it.
//! So [`Renderer`] runs where memory is bounded: in a worker process, or on plain templates
//! ([`super::in_process`]).

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, ErrorKind, Output, UndefinedBehavior, Value as Engine};
use serde::{Deserialize, Serialize};
use stave_canon::{Layout, Number, Object};
use thiserror::Error;

use super::pieces::{self, Marked, RenderedPiece};
use super::{filters, syntax, value};

/// How many compiled templates a renderer keeps before it starts afresh.
const CACHED: usize = 256;
/// The longest message of an engine's error; the engine quotes values of any size.
const MAX_MESSAGE: usize = 400;

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
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct RenderError {
    pub message: String,
    /// The bytes of the template at fault, when known.
    pub range: Option<std::ops::Range<usize>>,
}

/// Why the engine stopped.
#[derive(Debug)]
pub(super) enum Fault {
    OutOfFuel,
    Failed(RenderError),
}

impl From<RenderError> for Fault {
    fn from(error: RenderError) -> Self {
        Fault::Failed(error)
    }
}

impl From<Fault> for RenderError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::OutOfFuel => {
                RenderError { message: "the template takes too many steps".to_owned(), range: None }
            }
            Fault::Failed(error) => error,
        }
    }
}

/// Renders templates and remembers their compiled form. Its memory is not bounded: see the module's header.
///
/// A renderer is shared between threads: readers work on a snapshot, so that a template being compiled
/// never holds up one being rendered.
#[derive(Debug)]
pub struct Renderer {
    limits: RenderLimits,
    compiled: RwLock<Arc<Environment<'static>>>,
}

impl Renderer {
    #[must_use]
    pub fn new(limits: RenderLimits) -> Self {
        Renderer { limits, compiled: RwLock::new(Arc::new(environment(limits.fuel))) }
    }

    pub fn render(&self, template: &str, context: &Object) -> Result<String, RenderError> {
        Ok(self.text(template, context)?)
    }

    /// Renders in pieces, so that the author's text is distinguished from what was filled in.
    pub fn render_pieces(&self, template: &str, context: &Object) -> Result<Vec<RenderedPiece>, RenderError> {
        Ok(self.pieces(template, context)?)
    }

    pub(super) fn pieces(&self, template: &str, context: &Object) -> Result<Vec<RenderedPiece>, Fault> {
        let names: Vec<&str> = context.keys().map(String::as_str).collect();
        let marked = Marked::new(template, &names);
        match self.text(&marked.source, context) {
            Ok(text) => Ok(marked.cut(&text)),
            Err(Fault::OutOfFuel) => Err(Fault::OutOfFuel),
            // The engine explains a fault in the author's own words better than in the wrapped ones.
            Err(Fault::Failed(error)) => match self.text(template, context) {
                Err(plain) => Err(plain),
                Ok(_) => {
                    let range = error.range.map(|range| marked.original(&range));
                    Err(RenderError { range, ..error }.into())
                }
            },
        }
    }

    fn text(&self, template: &str, context: &Object) -> Result<String, Fault> {
        if template.is_empty() {
            return Ok(String::new());
        }
        let environment = self.compile(template)?;
        let compiled = environment.get_template(template).map_err(|error| failure(&error))?;
        let mut output = Bounded { bytes: Vec::new(), left: self.limits.output_bytes, full: false };
        if let Err(error) = compiled.render_captured_to(value::object_to_engine(context), &mut output) {
            if output.full {
                let message = format!("the text is longer than {} bytes", self.limits.output_bytes);
                return Err(RenderError { message, range: None }.into());
            }
            if error.kind() == ErrorKind::OutOfFuel {
                return Err(Fault::OutOfFuel);
            }
            return Err(failure(&error).into());
        }
        let text = String::from_utf8(output.bytes)
            .map_err(|error| RenderError { message: error.to_string(), range: None })?;
        Ok(text)
    }

    /// An environment that holds the template under its own text.
    fn compile(&self, template: &str) -> Result<Arc<Environment<'static>>, RenderError> {
        let current = Arc::clone(&self.compiled.read().unwrap_or_else(PoisonError::into_inner));
        if current.get_template(template).is_ok() {
            return Ok(current);
        }
        syntax::bounded(template)
            .map_err(|fault| RenderError { message: fault.message, range: Some(fault.range) })?;
        let mut next = Environment::clone(&current);
        if next.templates().count() >= CACHED {
            next.clear_templates();
        }
        next.add_template_owned(template.to_owned(), template.to_owned()).map_err(|error| failure(&error))?;
        let next = Arc::new(next);
        *self.compiled.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&next);
        Ok(next)
    }
}

/// Renders one template once. Use a [`Renderer`] for a template that is rendered again.
pub fn render(template: &str, context: &Object, limits: RenderLimits) -> Result<String, RenderError> {
    Renderer::new(limits).render(template, context)
}

/// The engine as every template sees it.
pub(super) fn environment(fuel: u64) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(fuel));
    environment.set_recursion_limit(64);
    environment.remove_global("debug");
    // Templates are kept under their own text; none of them can be named from another.
    environment.set_path_join_callback(|_, _| "".into());
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_formatter(|output, _, value| print(output, value));
    filters::install(&mut environment);
    pieces::install(&mut environment);
    environment
}

/// Prints a value as Jinja2 would, objects and arrays as JSON.
fn print(output: &mut Output<'_>, value: &Engine) -> Result<(), minijinja::Error> {
    if pieces::print_wrapped(output, value, print)? {
        return Ok(());
    }
    let text = match value.kind() {
        ValueKind::String => {
            let text = pieces::unmarked(value.as_str().unwrap_or_default());
            return output.write_str(&text).map_err(minijinja::Error::from);
        }
        ValueKind::None => "None".to_owned(),
        ValueKind::Bool => if value.is_true() { "True" } else { "False" }.to_owned(),
        ValueKind::Number => match value::number(value) {
            Some(Number::Float(float)) if float.is_finite() => stave_canon::python_float(float),
            _ => value.to_string(),
        },
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
            let json = value::from_engine(value, 0).ok_or_else(|| {
                minijinja::Error::new(ErrorKind::BadSerialization, "the value has no JSON form")
            })?;
            let mut text = String::new();
            stave_canon::write(&json, &Layout::MESSAGE, &mut text);
            text
        }
        _ => value.to_string(),
    };
    output.write_str(&text).map_err(minijinja::Error::from)
}

/// A text that stops growing at its bound.
struct Bounded {
    bytes: Vec<u8>,
    left: usize,
    /// Whether something did not fit.
    full: bool,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left {
            self.full = true;
            return Err(io::Error::other("the text is too long"));
        }
        self.left -= bytes.len();
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failure(error: &minijinja::Error) -> RenderError {
    let message = match error.detail() {
        Some(detail) => {
            let short: String = detail.chars().take(MAX_MESSAGE).collect();
            let more = if short.len() < detail.len() { "…" } else { "" };
            format!("{}: {short}{more}", error.kind())
        }
        None => error.kind().to_string(),
    };
    RenderError { message, range: error.range() }
}
