//! What a model step does between its prompt and the network, on its own thread and without a reply.
//!
//! The functions are those that a step calls, in its order: governance and plugins (none here), compile, blocks, the
//! gate, the neutral request with the conversation so far, the provider's body, its positions, the plan and its
//! splices. A step also counts tokens: of the compiled prompt and of its blocks for budget and record, and of the whole
//! request before it is sent. That takes longer than all of the rest, so one row has it and one leaves it out.

use std::hint::black_box;
use std::rc::Rc;

use stave_block::{
    DataScope, Destination, Planner, PlannerSettings, Provenance, SensitivityPolicy, Tokenizer, ToolSchema,
    govern_blocks,
};
use stave_canon::{CountingIds, FixedClock, Timestamp};
use stave_llm::codec::{AnthropicMessages, Codec as _};
use stave_llm::{FunctionTool, Message, Request, Role, Tool, tokens};
use stave_lower::{PromptBlocks, RequestShape, RewritePolicy, block_to_request, prompt_to_block, read_wire};
use stave_prompt::compile::{Adapter, Parts, PromptPart, TokenCounter, compile};
use stave_prompt::governance::PolicySet;
use stave_prompt::{Pipeline, PromptIrBuilder};
use stave_request::{BodyToPlan, plan_body};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;
use crate::workload::request;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "model-step",
    about: "a model step of 20 messages and 30 tools from its prompt to the wire, without the network",
    prepare,
};

fn prepare(_: &Machine) -> Vec<Comparison> {
    vec![
        comparison("20 messages, 30 tools, 115 kB", &request::body()),
        comparison("the same with short texts, 17 kB", &request::sized(200, 300, 1500)),
    ]
}

fn comparison(title: &'static str, body: &str) -> Comparison {
    let request = stave_canon::parse(body).ok().and_then(|body| AnthropicMessages.decode_request(body).ok());
    let entrants = [("with token counts", true), ("without them", false)].map(|(name, counts)| {
        let step = request.as_ref().map(|request| Rc::new(Step::of(request)));
        let mut planner = Planner::new(PlannerSettings::default());
        let mut now = 1e5;
        let mut send = move || {
            now += 10.0;
            step.as_ref().and_then(|step| step.send(&mut planner, now, counts)).map(|body| body.len())
        };
        let answer = send().map(|length| (length > body.len() / 2).to_string()).unwrap_or_default();
        let work = Box::new(move || {
            black_box(send());
        });
        Entrant { name, contestant: Ok(InProcess::boxed(answer, work)) }
    });
    Comparison { title, work: Work::Calls(1), entrants: entrants.into() }
}

/// What a step begins with.
#[derive(Debug)]
struct Step {
    system: String,
    /// The text of the prompt; what follows it is the conversation.
    prompt: String,
    conversation: Vec<Message>,
    tools: Vec<FunctionTool>,
    model: String,
    pipeline: Pipeline,
    governance: PolicySet,
}

impl Step {
    fn of(request: &Request) -> Step {
        let text = |message: &Message| message.texts().collect::<Vec<&str>>().concat();
        let (system, mut conversation): (Vec<Message>, Vec<Message>) =
            request.messages.iter().cloned().partition(|message| message.role == Role::System);
        let prompt = text(&conversation.remove(0));
        let functions = request.tools.iter().filter_map(|tool| match tool {
            Tool::Function(function) => Some(function.clone()),
            Tool::Provider(_) => None,
        });
        Step {
            system: system.iter().map(text).collect(),
            prompt,
            conversation,
            tools: functions.collect(),
            model: request.model.clone(),
            pipeline: Pipeline::new(Some(PolicySet::strict())),
            governance: PolicySet::strict(),
        }
    }

    /// The bytes that are sent.
    fn send(&self, planner: &mut Planner, now: f64, counts: bool) -> Option<String> {
        let (ids, clock) = (CountingIds::new(), FixedClock(Timestamp::UNIX_EPOCH));
        let count = |text: &str| if counts { tokens::count_text(&self.model, text).tokens } else { 0 };
        let ir = PromptIrBuilder::new("assistant", self.system.as_str())
            .set_model_hint("anthropic")
            .set_token_budget(200_000)
            .build(&ids, &clock)
            .ok()?;
        let ir = self.pipeline.process(black_box(&ir), &ids, &clock).ir;
        let parts = Parts {
            instructions: vec![PromptPart::new("system", self.system.clone(), Provenance::Developer)],
            inputs: vec![PromptPart::new("input", self.prompt.clone(), Provenance::User)],
            provider: "anthropic".to_owned(),
            adapter: Adapter::of("anthropic"),
            ..Parts::default()
        };
        let compiled = compile(&ir, &parts, &TokenCounter::new(&count).per_section(1)).ok()?;
        if !self.governance.check_compiled(&compiled).approved() {
            return None;
        }
        let schema =
            |tool: &FunctionTool| ToolSchema { name: tool.name.clone(), schema: tool.parameters.clone() };
        let tools: Vec<ToolSchema> = self.tools.iter().map(schema).collect();
        let block_count = |text: &str| u32::try_from(count(text)).unwrap_or(u32::MAX);
        let with = PromptBlocks {
            tools: &tools,
            output_schema: None,
            native_schema: false,
            tokenizer: Some(Tokenizer { model_family: tokens::family_of(&self.model), count: &block_count }),
        };
        let blocks = prompt_to_block(&compiled, &with, &ids, &clock).ok()?;
        let policy = SensitivityPolicy::default();
        let governed = govern_blocks(blocks.clone(), &policy, &DataScope::new("run"), Destination::External);
        let shape =
            RequestShape { model: self.model.clone(), tools: self.tools.clone(), ..RequestShape::default() };
        let mut request = block_to_request(&governed.prompt, shape);
        request.max_tokens = Some(1024);
        request.messages.extend(self.conversation.iter().cloned());
        if counts {
            black_box(tokens::count_request(&request).tokens);
        }
        let body = AnthropicMessages.encode_request(&request).body.to_string();
        let wire = read_wire(&body, None).ok()?;
        let to_plan = BodyToPlan {
            body: &body,
            wire: &wire,
            session: Some("run"),
            rewrites: RewritePolicy::default(),
            now,
        };
        let planned = plan_body(&to_plan, |request| Ok(planner.plan(request))).ok()?;
        Some(planned.text(&body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_sends_its_messages_and_tools_with_a_plan() {
        let body = request::sized(200, 300, 1500);
        let request = stave_canon::parse(&body).map(|body| AnthropicMessages.decode_request(body));
        let step = Step::of(&request.unwrap().unwrap());
        let mut planner = Planner::new(PlannerSettings::default());
        let sent: Vec<String> =
            (0..2).filter_map(|turn| step.send(&mut planner, f64::from(turn) * 10.0, true)).collect();
        let sent = stave_canon::parse(sent.last().unwrap()).unwrap();
        let count =
            |key: &str| sent.get(key).and_then(|value| value.as_array().map(<[stave_canon::Value]>::len));
        assert_eq!((count("messages"), count("tools")), (Some(20), Some(30)));
        assert!(sent.to_string().contains("cache_control"));
    }
}
