//! One code transform from start to end.

use std::collections::BTreeMap;
use std::io;

use monty::RunProgress;
use monty_types::{
    ExtFunctionResult, MontyException, MontyObject, NameLookupResult, PrintWriter, ResourceLimits,
    ResourceTracker,
};
use stave_canon::{Object, Value};
use stave_script::Limit;
use stave_script::protocol::{HostAnswer, HostCall, JobFailure, Json, WorkerLimits, WorkerReply};

use crate::compiled::Compiled;
use crate::convert;
use crate::failure::{self, Frame};
use crate::host::{self, Exchange, Pending, Refused};

/// Why a job ends without its value.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(JobFailure),
    Pipe(io::Error),
}

impl From<JobFailure> for Stop {
    fn from(failure: JobFailure) -> Self {
        Stop::Failed(failure)
    }
}

/// The names under which the arguments reach the call that is added to the code.
const ARGUMENTS: [&str; 3] = ["_stave_inputs", "_stave_context", "_stave_state"];

/// Runs the code's `transform` and answers with what it returned.
pub(crate) fn transform(
    code: &str,
    inputs: Value,
    context: Value,
    has_state: bool,
    bounds: &WorkerLimits,
    compiled: &mut Compiled,
    exchange: &mut dyn Exchange,
) -> Result<WorkerReply, Stop> {
    let frame = Frame::of(code, 0);
    let raised = |exception: &MontyException| Stop::Failed(failure::of(exception, frame));
    let names = ARGUMENTS.map(str::to_owned).to_vec();
    let program = compiled.get(code, names, || with_call(code)).map_err(|exception| raised(&exception))?;
    let fields = match context {
        Value::Object(fields) => fields,
        _ => Object::new(),
    };
    let arguments = vec![convert::to_python(inputs), host::context(fields.clone()), host::state()];
    let mut printed = String::new();
    let mut run =
        Run { fields: &fields, has_state, bounds, exchange, pending: BTreeMap::new(), calls: 0, frame };
    let mut progress = program
        .start(arguments, tracker(bounds), collect(&mut printed, bounds))
        .map_err(|exception| raised(&exception))?;
    let value = loop {
        progress = match progress {
            RunProgress::Complete(value) => break value,
            suspended => run.resume(suspended, &mut printed)?,
        };
    };
    let value = convert::to_json(value, "the result", bounds)?;
    run.settle()?;
    Ok(WorkerReply::Value { value: Json(value), printed })
}

/// The code followed by the call of its `transform`, whose value becomes the program's.
fn with_call(code: &str) -> String {
    let wait = if stave_script::python::transform_is_async(code) { "await " } else { "" };
    format!("{code}\n{wait}transform({})\n", ARGUMENTS.join(", "))
}

pub(crate) fn tracker(bounds: &WorkerLimits) -> ResourceTracker {
    ResourceTracker::new(
        ResourceLimits::default()
            .max_duration(bounds.compute)
            .max_memory(bounds.memory_bytes)
            .max_recursion_depth(bounds.recursion)
            .max_suspensions(usize::MAX),
    )
}

fn collect<'p>(printed: &'p mut String, bounds: &WorkerLimits) -> PrintWriter<'p> {
    PrintWriter::CollectString(printed, Some(bounds.output_bytes))
}

struct Run<'r> {
    fields: &'r Object,
    has_state: bool,
    bounds: &'r WorkerLimits,
    exchange: &'r mut dyn Exchange,
    /// State calls that were made and not yet awaited, by their number.
    pending: BTreeMap<u32, Pending>,
    calls: usize,
    frame: Frame,
}

impl Run<'_> {
    fn resume(&mut self, suspended: RunProgress, printed: &mut String) -> Result<RunProgress, Stop> {
        let print = collect(printed, self.bounds);
        let resumed = match suspended {
            RunProgress::Complete(value) => Ok(RunProgress::Complete(value)),
            RunProgress::FunctionCall(mut call) => {
                let (args, kwargs) = (std::mem::take(&mut call.args), std::mem::take(&mut call.kwargs));
                match call.object_id {
                    Some(host::CONTEXT) => {
                        let answer = host::context_method(&call.function_name, self.fields, args, kwargs);
                        call.resume(answer, print)
                    }
                    Some(host::STATE) if !self.has_state => call.resume(host::no_state(), print),
                    Some(host::STATE) => {
                        match host::state_method(&call.function_name, args, kwargs, self.bounds) {
                            Ok(pending) => {
                                self.count()?;
                                self.pending.insert(call.call_id, pending);
                                call.resume_pending(print)
                            }
                            Err(Refused::Raise(exception)) => call.resume(exception, print),
                            Err(Refused::End(failure)) => return Err(failure.into()),
                        }
                    }
                    _ => {
                        let name = call.function_name.clone();
                        call.resume(ExtFunctionResult::NotFound(name), print)
                    }
                }
            }
            RunProgress::NameLookup(lookup) => {
                let answer = match lookup.object_id() {
                    Some(host::STATE) if !self.has_state => NameLookupResult::Error(host::no_state()),
                    _ => NameLookupResult::Undefined,
                };
                lookup.resume(answer, print)
            }
            RunProgress::OsCall(call) => {
                self.count()?;
                call.resume_with(print, |call| host::system_call(&call, self.fields))
            }
            RunProgress::ResolveFutures(futures) => {
                let answers = self.answers(futures.pending_call_ids())?;
                futures.resume(answers, print)
            }
        };
        resumed.map_err(|exception| Stop::Failed(failure::of(&exception, self.frame)))
    }

    /// Puts the awaited calls to the host.
    fn answers(&mut self, awaited: &[u32]) -> Result<Vec<(u32, ExtFunctionResult)>, Stop> {
        // The interpreter lists them in no order; the code made them in that of their numbers.
        let mut awaited = awaited.to_vec();
        awaited.sort_unstable();
        let mut ids = Vec::with_capacity(awaited.len());
        let mut calls = Vec::with_capacity(awaited.len());
        let mut defaults = Vec::with_capacity(awaited.len());
        for id in awaited {
            if let Some(pending) = self.pending.remove(&id) {
                ids.push(id);
                calls.push(pending.call);
                defaults.push(pending.default);
            }
        }
        if calls.is_empty() {
            return Err(
                JobFailure::Protocol("the code waits for something that never comes".to_owned()).into()
            );
        }
        let answers = self.exchange.exchange(calls).map_err(Stop::Pipe)?;
        let mut results = Vec::with_capacity(ids.len());
        for ((id, default), answer) in ids.into_iter().zip(defaults).zip(answers) {
            let value = match answer {
                HostAnswer::Done => MontyObject::None,
                HostAnswer::Found(value) => convert::to_python(value.0),
                HostAnswer::Absent => default,
                HostAnswer::Failed => return Err(JobFailure::Host.into()),
            };
            results.push((id, value.into()));
        }
        Ok(results)
    }

    /// Makes the writes that nothing awaited, so that whether they happen does not depend on what the
    /// code waits for afterwards.
    fn settle(&mut self) -> Result<(), Stop> {
        self.pending.retain(|_, pending| !matches!(pending.call, HostCall::Get { .. }));
        let left: Vec<u32> = self.pending.keys().copied().collect();
        if !left.is_empty() {
            self.answers(&left)?;
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Stop> {
        self.calls += 1;
        if self.calls > self.bounds.host_calls {
            let detail = format!("more than {} calls of the host", self.bounds.host_calls);
            return Err(JobFailure::LimitExceeded { limit: Limit::HostCalls, detail, range: None }.into());
        }
        Ok(())
    }
}
