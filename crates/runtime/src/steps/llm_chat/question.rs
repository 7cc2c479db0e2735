//! From a prompt's templates to blocks: rendered, governed, fitted to its budget, lowered.
//!
//! Invariant: no [`Question`] exists that governance denied or that exceeds its token budget.

use std::sync::Arc;

use stave_block::{BlockIr, Tokenizer, ToolSchema};
use stave_canon::Object;
use stave_diag::codes::run as codes;
use stave_llm::prices::Prices;
use stave_llm::tokens;
use stave_lower::{PromptBlocks, prompt_to_block, sent_sections};
use stave_prompt::compile::{
    Adapter, Parts, PromptPart, Provenance, SectionKind, Sensitivity, TokenCounter, compile,
};
use stave_prompt::governance::{AskedModel, Content, Verdict};
use stave_prompt::plugins::{BudgetOptimizer, ConfiguredPlugin};
use stave_prompt::resolve::Resolution;
use stave_prompt::{Pipeline, PromptIr, PromptIrBuilder};

use super::answer_validator::{AnswerValidator, unusable};
use super::arguments::{Arguments, PromptSource};
use super::context;
use super::digest;
use super::evidence::{self, Way};
use super::gate;
use crate::heavy_work;
use crate::run::Call;
use crate::{Failure, failure::FailureKind};

/// The ceiling of a prompt when neither the policy nor the model sets one.
const DEFAULT_PROMPT_TOKENS: u64 = 100_000;

/// What the blank line between two sections costs at most.
pub(super) const SEPARATOR_TOKENS: u64 = 1;

/// A prompt that may be asked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) blocks: BlockIr,
    /// How many blocks end with the last reference, when something comes after it.
    pub(super) references: Option<usize>,
    /// What the answer has to be; any text when absent.
    pub(super) output: Option<AnswerValidator>,
    /// What happened to it on the way, for those who look at the run later.
    pub(super) way: Way,
}

impl Question {
    pub(super) async fn prepare(call: &Call<'_>, arguments: &Arguments) -> Result<Question, Failure> {
        let rendered = match &arguments.source {
            PromptSource::Templates { system, template } => {
                Rendered::of(call, system.as_deref(), template).await?
            }
            PromptSource::Document(_) => Rendered::default(),
        };
        let bytes =
            rendered.pieces.iter().map(|piece| piece.text.len()).sum::<usize>() + rendered.system.len();
        // References are read from files, which takes its time whatever their size.
        let is_heavy = bytes > heavy_work::LARGE || !arguments.context_refs.is_empty();
        let heavy_work = &call.services.heavy_work;
        let draft = || Draft::new(call, arguments, rendered);
        let draft = heavy_work.run_if(is_heavy, draft).await?;
        let draft = digest::digested(call, arguments, draft).await?;
        heavy_work.run_if(is_heavy, || Question::build(call, arguments, draft)).await
    }

    /// Counts and lowers what was governed: work that grows with the text.
    fn build(call: &Call<'_>, arguments: &Arguments, draft: Draft) -> Result<Question, Failure> {
        let Draft { ir, references, system, sensitivity, pieces, mut way } = draft;
        let count = |text: &str| tokens::count_text(&arguments.model.name, text).tokens;
        let template = arguments.templates.of_prompt(&ir).map_err(|error| unusable(&error.into()))?;
        let output = AnswerValidator::of(arguments, &ir)?;
        let parts = Parts {
            instructions: if system.is_empty() {
                Vec::new()
            } else {
                vec![PromptPart::new("system", system, Provenance::Developer).sensitivity(sensitivity)]
            },
            inputs: pieces,
            template: template.cloned(),
            requirements: output.as_ref().and_then(AnswerValidator::stated),
            provider: arguments.model.provider.word().to_owned(),
            references: references.parts,
            adapter: Adapter::of(arguments.model.provider.word()),
            ..Parts::default()
        };
        let referring = without_inputs(call, arguments, &ir);
        let compiled = compile(&referring, &parts, &TokenCounter::new(&count).per_section(SEPARATOR_TOKENS))
            .map_err(|over| {
                way.too_large(over.needed, over.budget);
                evidence::refused(call, &arguments.model, &way, Some("budget"));
                let message =
                    format!("the prompt needs {} tokens and its budget is {}", over.needed, over.budget);
                Failure::new(codes::PROMPT_TOO_LARGE, FailureKind::Value, message)
            })?;
        let verdict = call.run.plan.policy.governance.check_compiled(&compiled);
        // A schema alone is left to the provider. Requirements say more than a schema, such as how to decline.
        let native_schema = arguments.output_schema.is_some() && arguments.model.provider.has_native_schema();
        way.compiled(&compiled, &verdict, native_schema);
        judge(call, &verdict)
            .inspect_err(|_| evidence::refused(call, &arguments.model, &way, Some("compiled")))?;
        let tools: Vec<ToolSchema> = arguments
            .tools
            .iter()
            .map(|tool| ToolSchema {
                name: tool.function.name.clone(),
                schema: tool.function.parameters.clone(),
            })
            .collect();
        let block_count = |text: &str| u32::try_from(count(text)).unwrap_or(u32::MAX);
        let blocks = prompt_to_block(
            &compiled,
            &PromptBlocks {
                tools: &tools,
                output_schema: arguments.output_schema.as_ref().map(|schema| &schema.schema),
                native_schema,
                tokenizer: Some(Tokenizer {
                    model_family: tokens::family_of(&arguments.model.name),
                    count: &block_count,
                }),
            },
            call.services.ids.as_ref(),
            call.services.clock.as_ref(),
        );
        let mut blocks = blocks.map_err(|error| {
            Failure::new(
                codes::BAD_DOCUMENT,
                FailureKind::Configuration,
                format!("the prompt cannot be built: {error}"),
            )
        })?;
        blocks.source_request_hash = way.source_hash();
        way.count(call);
        let sent = sent_sections(&compiled, native_schema);
        let last = sent.enumerate().filter(|(_, section)| section.kind == SectionKind::Context).last();
        let references = last.map(|(index, _)| index + 1).filter(|end| *end < blocks.blocks.len());
        Ok(Question { blocks, references, output, way })
    }
}

/// The texts of a node, rendered.
#[derive(Debug)]
struct Rendered {
    /// Instructions are one text, as sensitive as the most sensitive value in it.
    system: String,
    sensitivity: Sensitivity,
    /// What the instructions say that their author did not write.
    system_values: String,
    pieces: Vec<PromptPart>,
}

impl Default for Rendered {
    fn default() -> Self {
        Rendered {
            system: String::new(),
            sensitivity: Sensitivity::Public,
            system_values: String::new(),
            pieces: Vec::new(),
        }
    }
}

impl Rendered {
    async fn of(call: &Call<'_>, system: Option<&str>, template: &str) -> Result<Rendered, Failure> {
        let system = match system {
            Some(system) => render(call, "system", system).await?,
            None => Vec::new(),
        };
        let sensitivity = system.iter().map(|part| part.sensitivity).max().unwrap_or(Sensitivity::Public);
        let pieces = render(call, "template", template).await?;
        Ok(Rendered { system: join(&system), sensitivity, system_values: values(&system), pieces })
    }
}

/// The values among the parts of a text. Values side by side are one text, as the model reads them.
fn values(parts: &[PromptPart]) -> String {
    let mut values = String::new();
    for part in parts {
        match part.provenance {
            Provenance::Developer => values.push('\n'),
            _ => values.push_str(&part.text),
        }
    }
    values
}

/// A prompt that governance approved, before it is counted.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) ir: Arc<PromptIr>,
    pub(super) references: Resolution,
    /// The instructions, and the label of what is in them.
    system: String,
    pub(super) sensitivity: Sensitivity,
    pieces: Vec<PromptPart>,
    pub(super) way: Way,
}

impl Draft {
    /// Governs what was rendered, and reads what it refers to.
    fn new(call: &Call<'_>, arguments: &Arguments, rendered: Rendered) -> Result<Draft, Failure> {
        let Rendered { system, sensitivity, system_values, pieces } = rendered;
        let mut way = Way::default();
        let ir = govern(call, arguments, &system, &mut way);
        let ir = ir.inspect_err(|_| evidence::refused(call, &arguments.model, &way, Some("governance")))?;
        if !system_values.trim().is_empty() {
            let content = Content { reference: "system", path: None, text: &system_values };
            let verdict = call.run.plan.policy.governance.check_content(&[content]);
            way.found(&verdict.violations);
            judge(call, &verdict)
                .inspect_err(|_| evidence::refused(call, &arguments.model, &way, Some("governance")))?;
        }
        let references = context::resolve(call, arguments, &without_inputs(call, arguments, &ir))
            .inspect_err(|_| evidence::refused(call, &arguments.model, &way, Some("references")))?;
        let verdict = call.run.plan.policy.governance.check_content(&references.contents());
        way.referred(&references, &verdict);
        judge(call, &verdict)
            .inspect_err(|_| evidence::refused(call, &arguments.model, &way, Some("resolution")))?;
        Ok(Draft { ir, references, system, sensitivity, pieces, way })
    }

    /// Judges what became of it. `stage` says where.
    pub(super) fn judge(
        &mut self,
        call: &Call<'_>,
        arguments: &Arguments,
        verdict: &Verdict,
        stage: &str,
    ) -> Result<(), Failure> {
        self.way.found(&verdict.violations);
        judge(call, verdict)
            .inspect_err(|_| evidence::refused(call, &arguments.model, &self.way, Some(stage)))
    }
}

/// Builds the Prompt IR of the node and takes it through governance and the budget.
fn govern(
    call: &Call<'_>,
    arguments: &Arguments,
    system: &str,
    way: &mut Way,
) -> Result<Arc<PromptIr>, Failure> {
    let policy = &call.run.plan.policy;
    let most = most_tokens(policy.prompt_tokens, arguments, &call.services.prices);
    let (ids, clock) = (call.services.ids.as_ref(), call.services.clock.as_ref());
    let ir = match &arguments.source {
        PromptSource::Templates { .. } => built(call, arguments, system, most)?,
        PromptSource::Document(ir) => held(call, ir, most),
    };
    let plugins = call.services.prompt_plugins.iter().cloned().map(|configured| {
        if configured.plugin.name() != BudgetOptimizer::NAME {
            return configured;
        }
        ConfiguredPlugin { plugin: Arc::new(BudgetOptimizer::within(most)), ..configured }
    });
    let pipeline = Pipeline::new(Some(policy.governance.clone())).with_configured(plugins);
    let built = Arc::new(ir);
    let process = || pipeline.process_shared(&built, ids, clock);
    let waits = call.services.prompt_plugins.iter().any(|configured| configured.plugin.bounds_its_time());
    let outcome = if waits { without_blocking(process) } else { process() };
    way.governed(&built, &outcome);
    judge(call, &Verdict { violations: outcome.violations.to_vec() })?;
    if let Some(message) = outcome.plugin_refusal() {
        return Err(Failure::new(codes::PROMPT_REFUSED, FailureKind::Refused, message));
    }
    if let PromptSource::Document(_) = &arguments.source {
        // Its hint is not the model that answers.
        let model =
            AskedModel { provider: arguments.model.provider.word(), name: Some(&arguments.model.name) };
        let verdict = policy.governance.check_model(model);
        way.found(&verdict.violations);
        judge(call, &verdict)?;
    }
    // A fallback model is asked the same thing, so it must be one that may be asked.
    if let Some(fallback) = arguments.fallback.as_ref().and_then(|fallback| fallback.model.as_ref()) {
        let model = AskedModel { provider: fallback.provider.word(), name: Some(&fallback.name) };
        let verdict = policy.governance.check_model(model);
        way.found(&verdict.violations);
        judge(call, &verdict)?;
    }
    // A plugin of the project may raise the budget, but not beyond what the project or the model allows.
    let ir = outcome.ir;
    if ir.token_budget.tokens() <= most {
        return Ok(ir);
    }
    let mut limited = ir.clone_with_id(ids);
    limited.token_budget = most.into();
    way.limited(&ir, &limited, clock);
    Ok(Arc::new(limited))
}

/// The Prompt IR of a node's texts and fields.
fn built(call: &Call<'_>, arguments: &Arguments, system: &str, most: u64) -> Result<PromptIr, Failure> {
    let policy = &call.run.plan.policy;
    let asked = arguments.token_budget.map_or(most, |tokens| tokens.min(most));
    let mut builder = PromptIrBuilder::new(arguments.role_of(call), system)
        .phase(arguments.phase)
        .set_token_budget(asked)
        .set_model_hint(arguments.model.provider.word())
        .add_metadata("model", arguments.model.name.as_str())
        .add_metadata("flow", call.run.plan.document.flow.name.as_str())
        .add_metadata("source_file", call.run.plan.document.metadata.source_file.as_str());
    for port in &call.node.inputs {
        builder = builder.add_context_ref(input_reference(port.name()));
    }
    let inputs = |text: &str| call.node.inputs.iter().any(|port| input_reference(port.name()) == text);
    for reference in arguments.context_refs.iter().filter(|reference| !inputs(&reference.text)) {
        builder = builder.add_context_ref(&reference.text);
    }
    if let Some(priority) = arguments.priority {
        builder = builder.set_priority(i64::try_from(priority).unwrap_or(i64::MAX));
    }
    for constraint in policy.constraints.iter().chain(&arguments.constraints) {
        builder = builder.add_constraint(constraint);
    }
    if let Some(temperature) = &arguments.temperature {
        builder = builder.set_temperature_hint(temperature.as_f64());
    }
    if let Some(origin) = call.node.text_origins.get("template") {
        builder = builder.add_metadata("line", origin.line);
    }
    let builder = arguments.state_output(builder);
    let (ids, clock) = (call.services.ids.as_ref(), call.services.clock.as_ref());
    builder.build(ids, clock).map_err(|error| {
        Failure::new(
            codes::BAD_ARGUMENT,
            FailureKind::Configuration,
            format!("the prompt cannot be built: {error}"),
        )
    })
}

/// A Prompt IR as the project asks it: with the project's constraints, and within its budget. A prompt that this changes
/// has a name of its own.
fn held(call: &Call<'_>, ir: &Arc<PromptIr>, most: u64) -> PromptIr {
    let constraints = &call.run.plan.policy.constraints;
    if constraints.is_empty() && ir.token_budget.tokens() <= most {
        return PromptIr::clone(ir);
    }
    let mut held = ir.clone_with_id(call.services.ids.as_ref());
    held.constraints = Arc::new(constraints.iter().chain(ir.constraints.iter()).cloned().collect());
    if held.token_budget.tokens() > most {
        held.token_budget = most.into();
    }
    held
}

/// Fails the step if a verdict denies, and reports what it flags.
pub(super) fn judge(call: &Call<'_>, verdict: &Verdict) -> Result<(), Failure> {
    let violations = verdict.texts();
    if !verdict.approved() {
        let message = format!("governance refused the prompt: {}", violations.join("; "));
        return Err(Failure::new(codes::PROMPT_REFUSED, FailureKind::Refused, message).details(violations));
    }
    if !violations.is_empty() {
        call.run.report(call.index, |report| {
            for violation in violations {
                if !report.flagged.contains(&violation) {
                    report.flagged.push(violation);
                }
            }
        });
    }
    Ok(())
}

/// Judges what a tool answered before the model sees it.
pub(super) fn judge_tool_answer(call: &Call<'_>, tool: &str, text: &str) -> Result<(), Failure> {
    let content = Content { reference: tool, path: None, text };
    let verdict = call.run.plan.policy.governance.check_content(&[content]);
    evidence::tool_judged(call, &verdict);
    judge(call, &verdict)
}

/// The most tokens that the prompt may have: what the policy allows, and what the model has room for beside
/// its answer.
fn most_tokens(allowed: Option<u64>, arguments: &Arguments, prices: &Prices) -> u64 {
    let allowed = allowed.unwrap_or(DEFAULT_PROMPT_TOKENS);
    let room = prices
        .context(&arguments.model.name)
        .map(|window| window.saturating_sub(arguments.max_tokens.unwrap_or_default()));
    room.map_or(allowed, |room| allowed.min(room))
}

/// How the Prompt IR refers to an input of the node.
fn input_reference(port: &str) -> String {
    format!("memory:{port}")
}

/// The prompt with the references that are read: those to the node's inputs that the author did not write are left out,
/// because their values are in the rendered template already. The prompt that is recorded and asked has them all.
pub(super) fn without_inputs(call: &Call<'_>, arguments: &Arguments, ir: &Arc<PromptIr>) -> Arc<PromptIr> {
    let inputs = call.node.inputs.iter().map(|port| input_reference(port.name()));
    let inputs: Vec<String> = inputs.filter(|input| !arguments.refers_to(input)).collect();
    let mut ir = Arc::clone(ir);
    if ir.context_refs.iter().any(|reference| inputs.contains(reference)) {
        let ir = Arc::make_mut(&mut ir);
        Arc::make_mut(&mut ir.context_refs).retain(|reference| !inputs.contains(reference));
    }
    ir
}

/// Runs work that may wait for a plugin without holding up other steps, where the runtime has threads for
/// that.
fn without_blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Renders one of the node's templates over its inputs and the context, in pieces: the author's own text,
/// and each value with where it came from.
async fn render(call: &Call<'_>, key: &str, template: &str) -> Result<Vec<PromptPart>, Failure> {
    let mut scope: Object = call.inputs.clone();
    scope.insert("context".into(), call.request.context.clone().into());
    let pieces = call.services.templates.render_pieces(template, &scope).await.map_err(|error| {
        let mut failure =
            Failure::new(codes::TEMPLATE_FAILED, FailureKind::Code, format!("`{key}`: {error}"));
        let before = error.range.and_then(|range| template.get(..range.start)).unwrap_or_default();
        let lines = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
        failure.origin = call.node.text_origins.get(key).map(|origin| stave_exec::dataflow::Origin {
            line: origin.line.saturating_add(lines),
            column: origin.column,
        });
        failure
    })?;
    let parts = pieces.into_iter().map(|piece| {
        let sensitivity = gate::label(call, &piece.reads)?;
        if piece.roots.is_empty() {
            return Ok(PromptPart::new(key, piece.text, Provenance::Developer).sensitivity(sensitivity));
        }
        let name = piece.roots.join(",");
        // A piece made of several values comes from the least trusted of them.
        let provenance = piece.roots.iter().map(|root| provenance(call, root)).max();
        let provenance = provenance.unwrap_or(Provenance::User);
        let part = PromptPart::new(name, piece.text, provenance).sensitivity(sensitivity);
        // In a system text everything is an instruction.
        Ok(match provenance {
            Provenance::Memory if key == "template" => part.cut_as(SectionKind::History),
            Provenance::Retrieval if key == "template" => part.cut_as(SectionKind::Context),
            Provenance::Tool if key == "template" => part.cut_as(SectionKind::ToolResult),
            _ => part,
        })
    });
    parts.collect()
}

fn join(parts: &[PromptPart]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}

/// Where the value of a template's root name came from. The context is the request.
pub(super) fn provenance(call: &Call<'_>, root: &str) -> Provenance {
    let port = call.node.inputs.iter().find(|port| port.name() == root);
    let word = port.and_then(|port| port.port.provenance.as_deref());
    // No value of a run speaks for the system.
    let known = word.and_then(Provenance::from_word).filter(|one| *one != Provenance::System);
    known.unwrap_or(Provenance::User)
}
