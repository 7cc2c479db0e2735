//! The prompt compiler: a Prompt IR and its resolved parts become the sections of one model call.
//!
//! [`compile`] builds the sections in order, then makes them fit the token budget. The budget is a real
//! ceiling, measured by the counter it is given: what does not fit is cut, least important first, and
//! every cut is reported. Instructions, constraints, the task and the output schema are never cut; a
//! budget too small for them is an error.
//!
//! Invariant: the tokens of a [`CompiledPrompt`] do not exceed its budget.

mod fit;
mod part;
mod section;

pub use fit::{Cut, CutReason, Fitted, OverBudget, TokenCounter, fit};
pub use part::{Part, Parts};
pub use section::{Provenance, Section, SectionKind, Sections, Sensitivity, sections};

use crate::{PromptIr, Temperature};

/// A prompt that is ready to be lowered to blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledPrompt {
    pub ir_id: String,
    /// In the order in which they are sent.
    pub sections: Vec<Section>,
    /// What the counter says the sections come to.
    pub tokens: u64,
    pub token_budget: u64,
    /// Everything that was left out, in section order.
    pub cuts: Vec<Cut>,
    /// References that nothing was supplied for.
    pub unresolved: Vec<String>,
    pub model_provider: String,
    pub temperature: Temperature,
    pub schema_id: String,
}

/// Builds the sections of a prompt and fits them into its token budget.
pub fn compile(
    ir: &PromptIr,
    parts: &Parts,
    counter: &TokenCounter<'_>,
) -> Result<CompiledPrompt, OverBudget> {
    let Sections { sections, mut cuts, unresolved } = sections(ir, parts, counter);
    let token_budget = ir.token_budget.tokens();
    let fitted = fit(sections, token_budget, counter)?;
    cuts.extend(fitted.cuts);
    cuts.sort_by_key(|cut| cut.section);
    Ok(CompiledPrompt {
        ir_id: ir.ir_id.clone(),
        sections: fitted.sections,
        tokens: fitted.tokens,
        token_budget,
        cuts,
        unresolved,
        model_provider: ir.provider().to_owned(),
        temperature: ir.temperature_hint.clone(),
        schema_id: ir.schema_id.clone(),
    })
}
