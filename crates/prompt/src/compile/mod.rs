//! The prompt compiler: a Prompt IR and its resolved parts become the sections of one model call.
//!
//! [`compile`] builds the sections in order, then makes them fit the token budget. The budget is a real
//! ceiling, measured by the counter it is given: what does not fit is cut, least important first, and
//! every cut is reported. Instructions, constraints, the task, the output schema and the digest are never
//! cut; a budget too small for them is an error. [`Compiler`] does the same with the template of the
//! prompt's role.
//!
//! Invariant: the tokens of a [`CompiledPrompt`] do not exceed its budget, neither section by section nor
//! as one text.

mod adapter;
mod fit;
mod output_text;
mod part;
mod section;
mod template;
mod template_file;
mod written;

pub use crate::output::OutputFormat;
pub use adapter::Adapter;
pub use fit::{Cut, CutReason, Fitted, OverBudget, TokenCounter, fit};
use fit::{may_be_cut, put_back};
pub use part::{Parts, PromptPart};
pub use section::{Section, SectionKind, Sections, sections};
pub use stave_vocabulary::{Provenance, Sensitivity};
pub use template::{
    Compiler, DEFAULT_SCHEMA, GENERAL_ROLE, InvalidTemplates, TEMPLATE_ID, Template, TemplateFault,
    Templates, UnknownSchema, UnknownTemplate,
};
pub use template_file::schema as template_schema;

use std::sync::Arc;

use thiserror::Error;

use crate::output::{BadRequirements, OutputRequirements};
use crate::resolve::Resolution;
use crate::{PhaseType, Priority, PromptIr, Temperature};

/// How often the sections are fitted again because the whole text has more tokens than its parts.
const FITTING_ROUNDS: usize = 8;

/// A prompt that is ready to be lowered to blocks, or sent as one text.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledPrompt {
    pub ir_id: String,
    pub ir_version: String,
    pub role: String,
    pub phase: PhaseType,
    pub priority: Priority,
    pub constraints: Arc<Vec<String>>,
    /// In the order in which they are sent.
    pub sections: Vec<Section>,
    /// The tokens of the sections by the counter; an upper bound if `is_counted` is false.
    pub tokens: u64,
    /// False when the prompt is so far below its budget that counting could not change anything.
    pub is_counted: bool,
    pub token_budget: u64,
    /// Everything that was left out, in section order.
    pub cuts: Vec<Cut>,
    /// References that nothing was supplied for.
    pub unresolved: Vec<String>,
    pub model_provider: String,
    pub adapter: Adapter,
    pub temperature: Temperature,
    pub schema_id: String,
    /// The template of the role, when one was used.
    pub template: Option<Arc<Template>>,
    /// What the answer has to be, where the prompt says it.
    pub requirements: Option<Arc<OutputRequirements>>,
    /// The resolved references.
    pub resolution: Resolution,
}

/// Why a prompt could not be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompileError {
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    #[error(transparent)]
    UnknownSchema(#[from] UnknownSchema),
    #[error(transparent)]
    UnknownTemplate(#[from] UnknownTemplate),
    #[error(transparent)]
    BadRequirements(#[from] BadRequirements),
}

/// Builds the sections of a prompt and fits them into its token budget.
pub fn compile(
    ir: &PromptIr,
    parts: &Parts,
    counter: &TokenCounter<'_>,
) -> Result<CompiledPrompt, OverBudget> {
    let Sections { sections, mut cuts, unresolved } = sections(ir, parts, counter);
    let token_budget = ir.token_budget.tokens();
    let (fitted, is_counted) = fit_whole(sections, token_budget, parts.adapter, counter)?;
    cuts.extend(fitted.cuts);
    cuts.sort_by_key(|cut| cut.section);
    Ok(CompiledPrompt {
        ir_id: ir.ir_id.clone(),
        ir_version: ir.ir_version.clone(),
        role: ir.role.clone(),
        phase: ir.phase,
        priority: ir.priority,
        constraints: Arc::clone(&ir.constraints),
        sections: fitted.sections,
        tokens: fitted.tokens,
        is_counted,
        token_budget,
        cuts,
        unresolved,
        model_provider: if parts.provider.is_empty() { ir.provider() } else { &parts.provider }.to_owned(),
        adapter: parts.adapter,
        temperature: ir.temperature_hint.clone(),
        schema_id: ir.schema_id.clone(),
        template: parts.template.clone(),
        requirements: parts.requirements.clone(),
        resolution: Resolution::default(),
    })
}

/// Fits the sections so that their sum and their joined text both keep the budget.
fn fit_whole(
    sections: Vec<Section>,
    budget: u64,
    adapter: Adapter,
    counter: &TokenCounter<'_>,
) -> Result<(Fitted, bool), OverBudget> {
    let bytes = written::length(&sections, adapter);
    if let Some(at_most) = counter.at_most(bytes, sections.len()).filter(|at_most| *at_most <= budget) {
        return Ok((Fitted { sections, tokens: at_most, cuts: Vec::new() }, false));
    }
    let cost = sections.iter().fold(0_u64, |sum, section| sum.saturating_add(counter.cost(&section.text)));
    if cost <= budget {
        let whole = counter.count(&written::join(&sections, adapter));
        if whole <= budget {
            return Ok((Fitted { sections, tokens: cost.max(whole), cuts: Vec::new() }, true));
        }
    }
    // Tokens may join or split where two sections meet, so that the whole may have a few more than its
    // parts; then the parts get that much less.
    let joined = |sections: &[Section]| counter.count(&written::join(sections, adapter));
    let mut allowed = budget;
    for _ in 0..FITTING_ROUNDS {
        let Ok(fitted) = fit(sections.clone(), allowed, counter) else { break };
        let whole = joined(&fitted.sections);
        if whole <= budget {
            let fitted = Fitted { tokens: fitted.tokens.max(whole), ..fitted };
            return Ok((put_back(&sections, fitted, budget, counter, &joined), true));
        }
        match allowed.checked_sub(whole - budget) {
            Some(less) => allowed = less,
            None => break,
        }
    }
    let fixed = fit_fixed(sections.clone(), budget, adapter, counter)?;
    Ok((put_back(&sections, fixed, budget, counter, &joined), true))
}

/// Only what must not be cut; what fits beside it is put back later. Its tokens are the smallest budget that these sections have.
fn fit_fixed(
    sections: Vec<Section>,
    budget: u64,
    adapter: Adapter,
    counter: &TokenCounter<'_>,
) -> Result<Fitted, OverBudget> {
    let mut cuts = Vec::new();
    let mut kept = Vec::new();
    let mut fixed = Vec::new();
    for (index, section) in sections.into_iter().enumerate() {
        let cost = counter.cost(&section.text);
        if may_be_cut(&section, cost, counter) {
            cuts.push(Cut {
                section: index,
                kind: section.cut_as,
                name: section.name,
                reference: section.reference,
                reason: CutReason::Budget,
                tokens_before: cost,
                tokens_after: 0,
            });
        } else {
            fixed.push((section.name.clone(), cost));
            kept.push(section);
        }
    }
    let sum = fixed.iter().fold(0_u64, |sum, (_, cost)| sum.saturating_add(*cost));
    let needed = sum.max(counter.count(&written::join(&kept, adapter)));
    if needed > budget {
        return Err(OverBudget { needed, budget, fixed });
    }
    Ok(Fitted { sections: kept, tokens: needed, cuts })
}
