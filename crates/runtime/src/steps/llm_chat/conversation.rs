//! One model asked until it answers: tool rounds and the repair turn.

use std::collections::{BTreeSet, HashMap};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::codes::project::UNLISTED_SECRET;
use stave_diag::codes::run as codes;
use stave_llm::prices::Cost;
use stave_llm::recording::Redactor;
use stave_llm::{
    Attempt, CallObserver, CallOptions, Error, Message, Provider, Request, Response, ResponseSchema,
    RetryPolicy, Role, Target, Timeouts, ToolUse, Usage, tokens,
};
use stave_lower::{RequestShape, block_to_request};
use stave_request::ModelPlanning;
use stave_script::address::HostPort;
use tokio::sync::Mutex;

use super::arguments::{Arguments, ChatTool, Model};
use super::cache_work::CacheWork;
use super::question::{self, Question};
use super::sent_requests::SentRequests;
use super::{gate, spans, turn};
use crate::attempts::seed;
use crate::budget::{Planned, Reserved};
use crate::journal::JournalError;
use crate::run::Call;
use crate::spend::{self, Spend};
use crate::state::{Commit, StateError};
use crate::task::STATE_CONFLICTS;
use crate::trace::OptionalSpan;
use crate::volume::{Volume, commit_bytes, with_state_bytes};
use crate::{Failure, failure::FailureKind};

/// How often the very same call may be made before it counts as a loop.
const IDENTICAL_CALLS: usize = 3;

/// Providers cache nothing of a request that has fewer tokens.
const LEAST_CACHED: u64 = 512;

/// Asks a model and gives its validated answer.
pub(super) async fn converse(
    call: &Call<'_>,
    arguments: &Arguments,
    question: &Question,
    model: &Model,
    retries: u32,
    rounds: &AtomicUsize,
) -> Result<Value, Failure> {
    let (blocks, model, kept) = gate::pass(call, arguments, question, model)?;
    let target = target(call, model)?;
    let sent = SentRequests::new(kept, &blocks, &question.way);
    let conversation = Conversation { call, arguments, model, target, retries, sent, rounds };
    // Other providers keep the beginning of a message without being told where it ends.
    let references = question.references.filter(|_| model.provider == Provider::Anthropic);
    let mut request = block_to_request(&blocks, RequestShape { references, ..shape(arguments, model) });
    let mut repaired = false;
    loop {
        let response = conversation.answer(&mut request).await?;
        let unmapped: Vec<&ToolUse> = response.tool_calls().collect();
        if !unmapped.is_empty() {
            return Ok(tool_calls_value(&response, &unmapped));
        }
        let text = response.text();
        let Some(output) = &question.output else { return Ok(Value::String(text)) };
        let validate = || output.validate(&model.name, &text);
        match conversation.call.services.heavy_work.run_if(true, validate).await {
            Ok(accepted) => return Ok(accepted.value),
            Err(rejected) if !repaired => {
                repaired = true;
                request.messages.push(Message::assistant(text));
                request.messages.push(Message::user(output.repair_turn(&rejected)));
            }
            Err(rejected) => {
                let message = format!("the model's reply does not fit what the prompt requires: {rejected}");
                return Err(Failure::new(codes::MODEL_REPLY_INVALID, FailureKind::Validation, message));
            }
        }
    }
}

/// Asks a model one thing, within the budget of the run and once for all its resumes, and gives its reply.
pub(super) async fn ask_once(
    call: &Call<'_>,
    arguments: &Arguments,
    model: &Model,
    request: &Request,
    sent: SentRequests,
) -> Result<Response, Failure> {
    let (retries, rounds) = (call.node.part_policy().retries, AtomicUsize::new(0));
    let target = target(call, model)?;
    let conversation = Conversation { call, arguments, model, target, retries, sent, rounds: &rounds };
    let response = conversation.send(request).await?;
    conversation.sent.kept().turn(call, &response);
    Ok(response)
}

pub(super) struct Conversation<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) arguments: &'c Arguments,
    model: &'c Model,
    pub(super) target: Target,
    retries: u32,
    sent: SentRequests,
    /// How many rounds of tool calls the step has made, whichever model asked for them.
    rounds: &'c AtomicUsize,
}

impl Conversation<'_> {
    /// Sends the request, answers tool calls, and gives the first reply that calls no mapped tool.
    async fn answer(&self, request: &mut Request) -> Result<Response, Failure> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        loop {
            let response = self.send(request).await?;
            self.sent.kept().turn(self.call, &response);
            let calls: Vec<ToolUse> = response.tool_calls().cloned().collect();
            let mapped =
                calls.iter().any(|call| self.tool(&call.name).is_none_or(|tool| tool.maps_to.is_some()));
            if calls.is_empty() || !mapped {
                return Ok(response);
            }
            for tool_use in &calls {
                let count = seen.entry(format!("{}\n{}", tool_use.name, tool_use.arguments)).or_default();
                *count += 1;
                if *count >= IDENTICAL_CALLS {
                    let message = format!(
                        "the model called `{}` with the same arguments again and again",
                        tool_use.name
                    );
                    return Err(Failure::new(codes::ENDLESS_TOOL_CALLS, FailureKind::Upstream, message));
                }
            }
            // The round that is one too many is refused before any of its tools has an effect.
            let most = self.call.services.limits.tool_rounds;
            if self.rounds.fetch_add(1, Ordering::Relaxed) >= most {
                let message = format!("no answer after {most} rounds of tool calls");
                return Err(Failure::new(codes::ENDLESS_TOOL_CALLS, FailureKind::Upstream, message));
            }
            request.messages.push(Message::new(Role::Assistant, response.content.clone()));
            for tool_use in &calls {
                let (text, is_error) = self.tool_answer(tool_use).await?;
                let node =
                    self.tool(&tool_use.name).and_then(|tool| self.call.run.plan.nodes.get(tool.maps_to?));
                let node = node.map(|node| node.id.as_str());
                question::judge_tool_answer(self.call, &tool_use.name, &text)?;
                let (text, label) = gate::tool_answer(self.call, self.model, node, &text, is_error)?;
                self.sent.tool_result(self.call, &tool_use.name, &text, label, is_error);
                request.messages.push(Message::tool_result(&tool_use.id, text, is_error));
            }
        }
    }

    /// Asks the model, unless it was asked this very question before the run was interrupted.
    async fn send(&self, request: &Request) -> Result<Response, Failure> {
        let call = self.call;
        self.sent.record(call, self.target.provider, request).await;
        let number = call.next_number();
        let asked = stave_llm::recording::request_hash(request);
        let fingerprint = format!("{} {asked}", self.target.model);
        let answer = call.answered(number, &fingerprint);
        if let Some((answer, turn)) = answer.as_ref().and_then(|answer| Some((answer, turn::read(answer)?))) {
            if !spend::is_counted(answer) {
                let spend = self.account(turn.usage, 1);
                call.run.spending.add(spend.usage, spend.cost, spend.calls);
            }
            call.written.fetch_add(turn.usage.map_or(0, |usage| usage.output), Ordering::Relaxed);
            return Ok(turn);
        }
        let (response, spend) = self.ask(request, number).await?;
        if let Some(turn) = turn::write(&response) {
            let turn = spend.within(turn);
            let written = call.write_answer(number, fingerprint, turn, None).await;
            written.map_err(|error| call.run.stop_unwritten(error))?;
        }
        Ok(response)
    }

    /// Asks the model once, retries included, and gives what all tries of this call have used.
    async fn ask(&self, request: &Request, number: u32) -> Result<(Response, Spend), Failure> {
        let node = self.call.node;
        let bounded = self.bounded(request)?;
        let request = bounded.as_ref().unwrap_or(request);
        let (spending, services) = (&self.call.run.spending, self.call.services);
        // The size of a request is not known before it is counted, and a call takes longer than changing threads.
        let input = services.heavy_work.run_if(true, || tokens::count_request(request).tokens).await;
        let planned = Planned {
            input,
            output: request.max_tokens,
            longest: tokens::longest_output(&self.target.model),
            price: services.prices.of(&self.target.model),
            writes_cache: services.planning.is_some()
                && ModelPlanning::covers(&self.target)
                && input >= LEAST_CACHED,
            is_free: false,
        };
        let reserving = spending.reserve(planned, || services.clock.elapsed());
        let reserved = self.call.run.unless_halted(reserving).await??;
        // An answer must not be longer than what is left of the budget.
        let shorter = (request.max_tokens.is_none() && reserved.output < planned.longest)
            .then(|| Request { max_tokens: Some(reserved.output), ..request.clone() });
        let request = shorter.as_ref().unwrap_or(request);
        let earlier = self.call.spent_before(number);
        // A process that is killed from here on has made the call as far as anyone knows.
        let usage = Usage { input: planned.input, output: reserved.output, ..Usage::default() };
        let held = self.spend(Some(usage), reserved.cost, reserved.attempts()).unsettled().after(&earlier);
        self.call.write_spend(number, held.clone()).await?;
        let options = CallOptions {
            timeouts: match node.timeout_ms {
                0 => Timeouts::default(),
                limit => Timeouts::within(Duration::from_millis(limit.into())),
            },
            retry: RetryPolicy { retries: self.retries, ..node.part_policy() },
            jitter_seed: seed(self.call.idempotency_key),
        };
        let span = spans::model(self, request);
        let cache = CacheWork::new(self.call, &self.target);
        let attempts = Attempts { call: self.call, span, number, cache, state: Mutex::new((reserved, held)) };
        let sending = services.models.send(request, &self.target, &options, &attempts);
        let reply = self.call.run.unless_halted(sending).await?;
        let Attempts { span, state, cache, .. } = attempts;
        cache.learn(reply.as_ref().ok().and_then(|reply| reply.response.usage.as_ref()));
        let (reserved, _) = state.into_inner();
        let attempts = match &reply {
            Ok(reply) => reply.attempts.len(),
            Err(error) => error.attempts.len(),
        };
        let usage = reply.as_ref().ok().and_then(|reply| self.usage(&reply.response, planned.input));
        let spend = self.account(usage, attempts);
        let cost = spend.cost;
        reserved.settle(usage, cost, attempts as u64);
        let spend = spend.after(&earlier);
        let output = usage.map_or(0, |usage| usage.output);
        let written = self.call.written.fetch_add(output, Ordering::Relaxed).saturating_add(output);
        spans::end_model(self, span, &reply, cost);
        match reply {
            // The model's host was sent a key, and its words go to ports, journal and tools.
            Ok(reply) => {
                if let Err(failure) = node.check_written(written) {
                    self.call.write_spend(number, spend).await?;
                    return Err(failure);
                }
                let response = self.without_secrets(reply.response);
                let results = turn::write(&response).map_or(0, |turn| stave_engine::value_bytes(&turn));
                self.call.run.keep(self.call.index, Volume { results, ..Volume::default() })?;
                Ok((response, spend))
            }
            Err(error) => {
                self.call.write_spend(number, spend).await?;
                Err(self.failure(&error))
            }
        }
    }

    /// What a reply says that it used. Where a budget or a contract counts tokens or money, a reply that does not say is
    /// counted here.
    fn usage(&self, response: &Response, input: u64) -> Option<Usage> {
        let budget = &self.call.run.plan.policy.budget;
        if budget.tokens.is_none() && budget.cost.is_none() && !self.call.node.counts_written() {
            return response.usage;
        }
        if response.is_metered() {
            return response.usage;
        }
        let said = response.usage.unwrap_or_default();
        let calls = response.tool_calls().map(|call| format!("{}{}", call.name, call.arguments));
        let text: String = std::iter::once(response.text()).chain(calls).collect();
        let output = tokens::count_text(&self.target.model, &text).tokens;
        Some(Usage {
            input: if said.has_input() { said.input } else { input },
            output: said.output.max(output),
            ..said
        })
    }

    fn spend(&self, usage: Option<Usage>, cost: Option<Cost>, calls: u64) -> Spend {
        let model = Some(self.target.model.clone());
        Spend { node: self.call.node.id.clone(), model, usage, cost, calls, unsettled: None }
    }

    /// The request with as many tokens to answer as the node's contract leaves, when that is less than it asks for.
    fn bounded(&self, request: &Request) -> Result<Option<Request>, Failure> {
        let left = self.call.node.tokens_left(self.call.written.load(Ordering::Relaxed))?;
        let tighter = left.filter(|left| request.max_tokens.is_none_or(|asked| *left < asked));
        Ok(tighter.map(|left| Request { max_tokens: Some(left), ..request.clone() }))
    }

    /// Adds a call to the node's report, and gives what it used.
    fn account(&self, usage: Option<Usage>, attempts: usize) -> Spend {
        let cost = usage.and_then(|usage| self.call.services.prices.cost(&self.target.model, &usage));
        let spend = self.spend(usage, cost, attempts as u64);
        self.call.run.report(self.call.index, |report| {
            // The engine counts the step itself as one attempt.
            report.attempts += u32::try_from(attempts).unwrap_or(u32::MAX).saturating_sub(1);
            report.charge(&spend);
        });
        spend
    }

    fn tool(&self, name: &str) -> Option<&ChatTool> {
        self.arguments.tools.iter().find(|tool| tool.function.name == name)
    }

    /// What a tool answers, and whether that is an error. A tool that answered before the run was
    /// interrupted is not run again.
    async fn tool_answer(&self, tool_use: &ToolUse) -> Result<(String, bool), Failure> {
        let call = self.call;
        let number = call.next_number();
        let fingerprint = stave_canon::sha256_hex(format!("{}\n{}", tool_use.name, tool_use.arguments));
        if let Some(answer) = call.answered(number, &fingerprint)
            && let Some(text) = answer.get("text").and_then(Value::as_str)
        {
            return Ok((
                text.to_owned(),
                answer.get("is_error").and_then(Value::as_bool).unwrap_or_default(),
            ));
        }
        let path = format!("{}/{number}:{}", call.path, tool_use.name);
        for _ in 0..STATE_CONFLICTS {
            let span = spans::tool(self, tool_use);
            let (result, commit) = match self.run_tool(tool_use, &path, &span).await {
                Ok((text, commit)) => (Ok(text), commit),
                Err(ToolFault::Step(failure)) => return Err(failure),
                Err(ToolFault::Told(message)) => (Err(message), None),
            };
            let is_error = result.is_err();
            let text = result.unwrap_or_else(|message| message);
            spans::end_tool(self, span, &text, is_error);
            let state_bytes = commit.as_ref().map_or(0, commit_bytes);
            let commit = match call.run.commit_apart(commit).await {
                Ok(commit) => commit,
                Err(StateError::Conflict) => continue,
                Err(error) => return Ok((error.to_string(), true)),
            };
            let answer =
                Value::from_iter([("text", Value::from(text.as_str())), ("is_error", is_error.into())]);
            let answer = with_state_bytes(answer, state_bytes);
            match call.write_answer(number, fingerprint.clone(), answer, commit).await {
                Ok(()) => return Ok((text, is_error)),
                Err(JournalError::StateConflict) => {}
                Err(error) => return Err(call.run.stop_unwritten(error)),
            }
        }
        Ok(("other runs changed the state again and again".to_owned(), true))
    }

    /// Runs the node that a tool maps to, and gives what it wants remembered. A failure is reported to
    /// the model, which may try again.
    async fn run_tool(
        &self,
        tool_use: &ToolUse,
        path: &str,
        span: &OptionalSpan,
    ) -> Result<(String, Option<Commit>), ToolFault> {
        let tool = self.tool(&tool_use.name).ok_or_else(|| {
            let known: Vec<&str> =
                self.arguments.tools.iter().map(|tool| tool.function.name.as_str()).collect();
            format!("there is no tool `{}`; the tools are {}", tool_use.name, known.join(", "))
        })?;
        let arguments = match stave_canon::parse(&tool_use.arguments) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(other) => return Err(format!("the arguments are {}, not an object", other.kind()).into()),
            Err(error) => return Err(format!("the arguments are not JSON: {error}").into()),
        };
        let run = self.call.run;
        let index = tool.maps_to.ok_or_else(|| format!("the tool `{}` has no node", tool_use.name))?;
        let node =
            run.plan.nodes.get(index).ok_or_else(|| format!("the tool `{}` has no node", tool_use.name))?;
        let fed = self.call.tool_inputs.iter().find(|(tool, _)| *tool == index);
        let mut inputs: Object = fed.map(|(_, inputs)| inputs.clone()).unwrap_or_default();
        for port in &node.inputs {
            match arguments.get(port.name()) {
                Some(value) => {
                    inputs.insert(port.name().to_owned(), value.clone());
                }
                None if port.port.optional || inputs.contains_key(port.name()) => {}
                None => return Err(format!("the argument `{}` is missing", port.name()).into()),
            }
        }
        let outcome = run.execute(index, node, &inputs, &[], path, span).await;
        if self.call.run.is_unwritten() {
            let message = "what the tool did could not be written down";
            let failure = Failure::new(codes::STATE_FAILED, FailureKind::Configuration, message);
            return Err(ToolFault::Step(failure));
        }
        let outputs = outcome.outputs?;
        let mut values = outputs.values();
        let text = match (values.next(), values.next()) {
            (Some(Value::String(text)), None) => text.clone(),
            (Some(sole), None) => sole.to_string(),
            _ => Value::Object(outputs).to_string(),
        };
        Ok((text, outcome.commit))
    }

    fn without_secrets(&self, response: Response) -> Response {
        let search = self.call.services.secrets.in_answers(&BTreeSet::new());
        if search.is_empty() {
            response
        } else {
            Redactor::of_secrets(search.into_owned()).response(&response)
        }
    }

    /// A host may repeat what it was sent, a secret in its address included.
    fn failure(&self, error: &Error) -> Failure {
        let kind = if error.is_timeout() { FailureKind::Timeout } else { FailureKind::Upstream };
        let code = if error.is_timeout() { codes::STEP_TIMEOUT } else { codes::MODEL_FAILED };
        let message = self.call.services.secrets.hide(&error.to_string());
        let mut failure = Failure::new(code, kind, message);
        failure.retryable = error.is_retryable();
        failure
    }
}

/// Watches the attempts of a call, and reserves each further one before it is made.
struct Attempts<'a> {
    call: &'a Call<'a>,
    span: OptionalSpan,
    number: u32,
    cache: CacheWork<'a>,
    /// What is reserved, and what the journal says of it.
    state: Mutex<(Reserved<'a>, Spend)>,
}

impl CallObserver for Attempts<'_> {
    fn body(&self, body: String) -> String {
        self.cache.plan(body)
    }

    fn begun(&self) {
        self.cache.begun();
    }

    fn retry(&self, attempt: &Attempt) {
        spans::retry(&self.span, attempt);
    }

    fn permits_retry(&self) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async {
            let mut state = self.state.lock().await;
            if !state.0.add_attempt() {
                return false;
            }
            state.1.calls = state.1.calls.saturating_add(1);
            // A call that cannot be written down is not made; the run ends.
            self.call.write_spend(self.number, state.1.clone()).await.is_ok()
        })
    }

    fn restart(&self) -> bool {
        true
    }
}

/// Why a tool gives no result.
enum ToolFault {
    /// The model receives it, and may try again.
    Told(String),
    /// The step itself fails or is put off: the tool waits for a person, or the run has no budget left. The model
    /// does not receive it, so it cannot continue as if the tool had answered.
    Step(Failure),
}

impl From<String> for ToolFault {
    fn from(message: String) -> Self {
        ToolFault::Told(message)
    }
}

impl From<Failure> for ToolFault {
    fn from(failure: Failure) -> Self {
        if failure.is_pause() || failure.kind == FailureKind::Budget {
            ToolFault::Step(failure)
        } else {
            ToolFault::Told(failure.message.clone())
        }
    }
}

fn target(call: &Call<'_>, model: &Model) -> Result<Target, Failure> {
    let endpoint = model.endpoint.as_deref();
    if let Some(mut reason) =
        endpoint.and_then(|endpoint| call.services.model_hosts.refusal(model.provider, endpoint))
    {
        if !model.endpoint_secrets.is_empty() {
            reason.message =
                "the model's endpoint, of which a secret is a part, is at no host that the project names"
                    .to_owned();
        }
        return Err(Failure::new(codes::HOST_NOT_ALLOWED, FailureKind::Refused, reason.to_string()));
    }
    let host = endpoint.and_then(HostPort::of);
    for name in &model.endpoint_secrets {
        if call.services.secrets.refusal(name, host.as_ref()).is_some() {
            // The host may be the secret itself.
            let refusal = call.services.secrets.refusal(name, None);
            let reason = refusal.map_or_else(String::new, |refusal| refusal.to_string());
            return Err(Failure::new(UNLISTED_SECRET, FailureKind::Refused, reason));
        }
    }
    let mut target = Target::new(model.provider, &model.name);
    target.endpoint.clone_from(&model.endpoint);
    target.api_key = call.services.secrets.provider_key(model.provider, endpoint).cloned();
    Ok(target)
}

fn shape(arguments: &Arguments, model: &Model) -> RequestShape {
    RequestShape {
        model: model.name.clone(),
        temperature: arguments.temperature.clone(),
        max_tokens: arguments.max_tokens,
        tools: arguments.tools.iter().map(|tool| tool.function.clone()).collect(),
        response_schema: arguments.output_schema.as_ref().map(|schema| ResponseSchema {
            name: "output".to_owned(),
            schema: schema.schema.clone(),
            strict: true,
        }),
        metadata: None,
        references: None,
    }
}

/// Tools that no node answers are the caller's to run: their calls are the answer.
fn tool_calls_value(response: &Response, calls: &[&ToolUse]) -> Value {
    let calls = calls.iter().map(|call| {
        let arguments =
            stave_canon::parse(&call.arguments).unwrap_or_else(|_| call.arguments.as_str().into());
        Value::from_iter([("name", Value::from(call.name.as_str())), ("arguments", arguments)])
    });
    let mut value = Object::new();
    value.insert("tool_calls".into(), Value::Array(calls.collect()));
    let text = response.text();
    if !text.is_empty() {
        value.insert("content".into(), text.into());
    }
    Value::Object(value)
}
