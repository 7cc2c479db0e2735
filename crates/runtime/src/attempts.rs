//! Performs the attempts of one execution of a step, as the machine of `stave_engine` asks for them.
//!
//! Invariant: whether another attempt follows, and after which wait, is decided by [`stave_engine::Attempts`] for every
//! engine; here the attempt is made, its time is bounded and the wait is slept.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_engine::{AttemptAction, AttemptEvent, AttemptRules, Attempts, Failure, FailureKind};
use stave_llm::{Jitter, RetryPolicy};

use crate::plan::PlannedNode;
use crate::port::{self, Side};
use crate::run::{Call, Execution, Run};
use crate::state::{Commit, StateBuffer};
use crate::steps::{self, StepOutput};
use crate::trace::{End, Work};
use crate::{labels, volume};

impl PlannedNode {
    /// When and how often the node's work is tried again.
    pub(crate) fn attempt_rules(&self) -> AttemptRules<'_> {
        let policy = RetryPolicy {
            retries: self.retry.max,
            backoff: Duration::from_millis(self.retry.backoff_ms.into()),
            spacing: self.spacing,
            ..RetryPolicy::default()
        };
        AttemptRules { policy, contract: self.contract.as_ref() }
    }

    /// The same for a part of the node's work that is tried by itself: a call to its model.
    pub(crate) fn part_policy(&self) -> RetryPolicy {
        let rules = self.attempt_rules();
        RetryPolicy { retries: rules.retries(), ..rules.policy }
    }
}

impl Run<'_> {
    /// All attempts, within the time that the node's contract gives them.
    pub(crate) async fn attempt_in_time(
        &self,
        execution: Execution<'_>,
        attempts: &mut u32,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let node = execution.node;
        let Some(limit) = node.longest() else { return self.attempt_all(execution, attempts).await };
        let all = self.attempt_all(execution, attempts);
        tokio::time::timeout(limit, all).await.unwrap_or_else(|_| Err(node.took_too_long(limit)))
    }

    async fn attempt_all(
        &self,
        execution: Execution<'_>,
        made: &mut u32,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let Execution { node, inputs, path, .. } = execution;
        let check = || port::check_all(Side::Input, &node.inputs, inputs);
        self.services.heavy_work.run_if(!port::are_quick(&node.inputs, inputs), check).await?;
        let key = stave_canon::sha256_hex(format!("{}\n{path}", self.id));
        let mut jitter = Jitter::seeded(seed(&key));
        let has_own_attempts = steps::repeats_by_part(&node.kind);
        let rules = node.attempt_rules();
        // A step that tries its parts again is itself tried once, and its contract bounds the parts.
        let once = AttemptRules { policy: RetryPolicy { retries: 0, ..rules.policy }, contract: None };
        let mut attempts = Attempts::new(if has_own_attempts { once } else { rules });
        let mut event = AttemptEvent::Begun;
        loop {
            event = match attempts.apply(event) {
                AttemptAction::Attempt { number } => {
                    *made = number;
                    match self.attempt_once(execution, number, has_own_attempts, &key).await {
                        Ok(done) => return Ok(done),
                        Err(failure) => AttemptEvent::Failed { failure, draw: jitter.draw() },
                    }
                }
                AttemptAction::Retry { after } => {
                    self.unless_halted(tokio::time::sleep(after)).await?;
                    AttemptEvent::Waited
                }
                AttemptAction::Fail(failure) => return Err(failure),
            };
        }
    }

    /// One attempt, within the node's time unless its parts have times of their own.
    async fn attempt_once(
        &self,
        execution: Execution<'_>,
        number: u32,
        has_own_attempts: bool,
        key: &str,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let node = execution.node;
        let span = execution.span.child(&Work::Attempt { number });
        let attempt = self.attempt(Execution { span: &span, ..execution }, key);
        let result = if has_own_attempts || node.timeout_ms == 0 {
            attempt.await
        } else {
            let limit = Duration::from_millis(node.timeout_ms.into());
            tokio::time::timeout(limit, attempt).await.unwrap_or_else(|_| Err(timeout(node.timeout_ms)))
        };
        span.end(&End::Attempt(result.as_ref().map(|_| ())));
        result
    }

    async fn attempt(
        &self,
        execution: Execution<'_>,
        key: &str,
    ) -> Result<(Object, Option<Commit>), Failure> {
        let Execution { index, node, inputs, tool_inputs, path, span } = execution;
        let state = match &node.state {
            Some(_) => {
                let (key, now) = (self.record_key(node, inputs)?, self.services.clock.now());
                let buffer = StateBuffer::new(self.services.state.as_ref(), key, now)
                    .labelled(labels::of_state(&self.plan.document, &node.id)?)
                    .within(self.services.limits.state_bytes);
                Some(buffer)
            }
            None => None,
        };
        let (counter, written) = (AtomicU32::new(0), AtomicU64::new(0));
        let call = Call {
            run: self,
            node,
            index,
            path,
            counter: &counter,
            written: &written,
            with: &node.with,
            inputs,
            request: &self.request,
            services: self.services,
            state: state.as_ref(),
            prompt_output: None,
            idempotency_key: key,
            tool_inputs,
            span,
        };
        let produced = node.step.execute(&call).await;
        if let Some(state) = &state {
            labels::hold_state(self, node, state)?;
            if state.is_over() {
                return Err(volume::run_too_large("state_bytes", self.services.limits.state_bytes));
            }
        }
        let produced = produced?;
        let is_heavy = !port::is_quick_result(&node.outputs, &produced);
        let outputs =
            self.services.heavy_work.run_if(is_heavy, || self.lay_out(index, node, produced)).await?;
        let ttl = node.state.as_ref().and_then(|state| state.ttl_seconds);
        let by = || format!("{}/{path}", self.id);
        let commit = state.and_then(|state| state.into_commit(ttl, by()));
        self.keep_result(index, &node.id, &outputs, commit.as_ref())?;
        Ok((outputs, commit))
    }

    /// Lays what a step produced onto the node's output ports and checks it there, so that a wrong
    /// output is blamed on the node that made it.
    fn lay_out(&self, index: usize, node: &PlannedNode, produced: StepOutput) -> Result<Object, Failure> {
        match &produced {
            StepOutput::Ports(ports) => ports.values().try_for_each(port::check_depth)?,
            StepOutput::Whole(whole) => port::check_depth(whole)?,
        }
        if let Some(name) = self.plan.graph.result_name() {
            let result = match produced {
                StepOutput::Ports(ports) => Value::Object(ports),
                StepOutput::Whole(whole) => whole,
            };
            return Ok([(name.to_owned(), result)].into_iter().collect());
        }
        let mut by_name = match (produced, node.outputs.as_slice()) {
            (StepOutput::Ports(ports), _) => ports,
            (StepOutput::Whole(value), [sole]) => [(sole.name().to_owned(), value)].into_iter().collect(),
            (StepOutput::Whole(Value::Object(members)), _) => members,
            (StepOutput::Whole(_), []) => Object::new(),
            (StepOutput::Whole(other), _) => {
                let message = format!("the node has several outputs, and its result is {}", other.kind());
                return Err(Failure::new(codes::INVALID_OUTPUT, FailureKind::Value, message));
            }
        };
        // The pseudo-nodes have the request's and the response's fields, which no port lists.
        if node.outputs.is_empty() {
            return Ok(by_name);
        }
        let mut outputs = Object::with_capacity(node.outputs.len());
        for port in &node.outputs {
            match by_name.shift_remove(port.name()) {
                Some(value) => {
                    port.check(Side::Output, &value)?;
                    outputs.insert(port.name().to_owned(), value);
                }
                None if port.port.optional => {}
                None => {
                    let message = format!("output `{}` is missing from the node's result", port.name());
                    return Err(Failure::new(codes::INVALID_OUTPUT, FailureKind::Value, message));
                }
            }
        }
        node.check_keys(Side::Output, &outputs)?;
        if !by_name.is_empty() {
            let dropped: Vec<String> = by_name.into_keys().collect();
            self.report(index, |report| report.dropped_outputs = dropped);
        }
        Ok(outputs)
    }
}

/// A seed for jitter, so that a run repeats its own timing.
pub(crate) fn seed(key: &str) -> u64 {
    key.bytes().fold(0, |seed: u64, byte| seed.rotate_left(5) ^ u64::from(byte))
}

pub(crate) fn timeout(limit_ms: u32) -> Failure {
    let message = format!("no result within {limit_ms} ms");
    Failure::new(codes::STEP_TIMEOUT, FailureKind::Timeout, message).retryable()
}
