//! One expression over many values.

use monty::{MontyRun, RunProgress};
use monty_types::{ExtFunctionResult, MontyException, MontyObject, NameLookupResult, PrintWriter};
use stave_canon::{Object, Value};
use stave_script::protocol::{JobFailure, Json, WorkerLimits, WorkerReply};

use crate::compiled::Compiled;
use crate::convert;
use crate::failure::{self, Frame};
use crate::host;
use crate::run::{Stop, tracker};

/// The one name whose fields are attributes.
const CONTEXT: &str = "context";

/// One outcome for each scope. A scope that runs into a bound of time or memory ends the batch.
pub(crate) fn evaluate(
    expression: &str,
    scopes: Vec<Json>,
    bounds: &WorkerLimits,
    compiled: &mut Compiled,
) -> Result<WorkerReply, Stop> {
    let mut outcomes = Vec::with_capacity(scopes.len());
    let mut program = Program::new(expression, compiled);
    for scope in scopes {
        let scope = match scope.0 {
            Value::Object(scope) => scope,
            _ => Object::new(),
        };
        let outcome = program
            .evaluate(scope.into_iter().map(|(name, value)| (name, Bound::Json(value))).collect(), bounds)
            .and_then(|object| convert::to_json(object, "the result", bounds));
        match outcome {
            Err(failure @ JobFailure::LimitExceeded { .. }) => return Err(failure.into()),
            outcome => outcomes.push(outcome.map(Json)),
        }
    }
    Ok(WorkerReply::Values(outcomes))
}

/// Folds from the left with `acc`, `item` and `index`.
pub(crate) fn fold(
    expression: &str,
    initial: Value,
    items: Vec<Json>,
    bounds: &WorkerLimits,
    compiled: &mut Compiled,
) -> Result<WorkerReply, Stop> {
    let mut program = Program::new(expression, compiled);
    let mut accumulated = convert::to_python(initial);
    for (index, item) in items.into_iter().enumerate() {
        let scope = vec![
            ("acc".to_owned(), Bound::Python(accumulated)),
            ("item".to_owned(), Bound::Json(item.0)),
            ("index".to_owned(), Bound::Json(Value::from(index))),
        ];
        accumulated = program.evaluate(scope, bounds)?;
    }
    let value = convert::to_json(accumulated, "the result", bounds)?;
    Ok(WorkerReply::Value { value: Json(value), printed: String::new() })
}

/// A value of a scope, on either side of the conversion.
enum Bound {
    Json(Value),
    Python(MontyObject),
}

struct Program<'c> {
    expression: &'c str,
    /// The names the expression uses; others are not worth converting.
    used: Vec<String>,
    compiled: &'c mut Compiled,
}

impl<'c> Program<'c> {
    fn new(expression: &'c str, compiled: &'c mut Compiled) -> Self {
        Program { expression, used: stave_script::expression::free_names(expression), compiled }
    }

    fn evaluate(
        &mut self,
        scope: Vec<(String, Bound)>,
        bounds: &WorkerLimits,
    ) -> Result<MontyObject, JobFailure> {
        let text = self.expression.trim();
        let frame = Frame::of(text, 1);
        let mut fields = Object::new();
        let mut names = Vec::new();
        let mut values = Vec::new();
        for (name, value) in scope {
            if !self.used.contains(&name) {
                continue;
            }
            values.push(match value {
                Bound::Json(Value::Object(object)) if name == CONTEXT => {
                    fields = object;
                    host::context(fields.clone())
                }
                Bound::Json(value) => convert::to_python(value),
                Bound::Python(object) => object,
            });
            names.push(name);
        }
        // The brackets keep the text one expression whatever it holds.
        let program = self
            .compiled
            .get(text, names, || format!("({text}\n)"))
            .map_err(|exception| failure::of(&exception, frame))?;
        complete(program, values, &fields, bounds).map_err(|exception| failure::of(&exception, frame))
    }
}

fn complete(
    program: MontyRun,
    values: Vec<MontyObject>,
    fields: &Object,
    bounds: &WorkerLimits,
) -> Result<MontyObject, MontyException> {
    let mut progress = program.start(values, tracker(bounds), PrintWriter::Disabled)?;
    loop {
        progress = match progress {
            RunProgress::Complete(value) => return Ok(value),
            RunProgress::FunctionCall(mut call) => {
                let (args, kwargs) = (std::mem::take(&mut call.args), std::mem::take(&mut call.kwargs));
                let answer = if call.object_id == Some(host::CONTEXT) {
                    host::context_method(&call.function_name, fields, args, kwargs)
                } else {
                    ExtFunctionResult::NotFound(call.function_name.clone())
                };
                call.resume(answer, PrintWriter::Disabled)?
            }
            RunProgress::NameLookup(lookup) => {
                lookup.resume(NameLookupResult::Undefined, PrintWriter::Disabled)?
            }
            RunProgress::OsCall(call) => {
                call.resume_with(PrintWriter::Disabled, |call| host::system_call(&call, fields))?
            }
            RunProgress::ResolveFutures(futures) => {
                let exception = MontyException::runtime_error("an expression cannot wait");
                futures.abort(exception, PrintWriter::Disabled)?
            }
        };
    }
}
