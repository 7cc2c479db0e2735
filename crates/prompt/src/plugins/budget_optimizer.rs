//! Adjusts the token budget by phase and priority.

use stave_canon::{Ids, Layout, Number, Value, write};

use super::{Change, Plugin, PluginError};
use crate::{PhaseType, PromptIr, TokenBudget};

/// The key of the budget before adjustment.
const ORIGINAL_BUDGET: &str = "original_budget";
/// The key of the phase's multiplier.
const BUDGET_MULTIPLIER: &str = "budget_multiplier";

/// Below this, every double without a fraction is one integer.
const EXACT_DOUBLES: f64 = 9_007_199_254_740_992.0;

/// Multiplies the budget by the phase's multiplier and the priority's bonus.
///
/// A prompt whose metadata shows that its budget is already the adjusted one is left alone, so that
/// processing a prompt twice does not raise its budget twice.
#[derive(Debug, Clone, Copy, Default)]
pub struct BudgetOptimizer;

impl BudgetOptimizer {
    pub const NAME: &'static str = "BudgetOptimizerPlugin";

    /// The sentence of the transformation record.
    #[must_use]
    pub fn description(original: &Number, adjusted: &Number) -> String {
        // Room for two ordinary budgets.
        let mut out = String::with_capacity(48);
        for (before, number) in [("Adjusted budget: ", original), (" -> ", adjusted)] {
            out.push_str(before);
            write(&Value::Number(number.clone()), &Layout::PYTHON_SPACED, &mut out);
        }
        out
    }
}

impl Plugin for BudgetOptimizer {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<Change>, PluginError> {
        if is_adjusted(ir) {
            return Ok(None);
        }
        let original = ir.token_budget.number();
        let adjusted = adjusted_budget(original, ir.phase, &Number::Int(i64::from(ir.priority.get())))
            .ok_or_else(|| PluginError("the budget is beyond every double".to_owned()))?;
        let description = Self::description(original, &adjusted);
        let token_budget = TokenBudget::new(adjusted)
            .ok_or_else(|| PluginError("the adjusted budget would be negative".to_owned()))?;
        let mut changed = ir.clone_with_id(ids);
        changed.token_budget = token_budget;
        changed.metadata.reserve(2);
        changed.metadata.insert(ORIGINAL_BUDGET.to_owned(), original.clone().into());
        changed.metadata.insert(BUDGET_MULTIPLIER.to_owned(), ir.phase.budget_multiplier().into());
        Ok(Some(Change { ir: changed, transformation_type: "budget_optimization".into(), description }))
    }
}

/// `int(budget * phase_multiplier * (1 + (priority - 5) * 0.1))` in doubles, in this order. Truncation
/// may land one below the exact decimal product; that is the specified value. `None` when the product is
/// not finite.
#[must_use]
pub fn adjusted_budget(budget: &Number, phase: PhaseType, priority: &Number) -> Option<Number> {
    let above_middle = match priority {
        Number::Int(level) => level.checked_sub(5)? as f64,
        other => other.as_f64() - 5.0,
    };
    let bonus = above_middle * 0.1;
    let product = (budget.as_f64() * phase.budget_multiplier()) * (1.0 + bonus);
    if !product.is_finite() {
        return None;
    }
    if product.abs() < EXACT_DOUBLES {
        return Some(Number::Int(product as i64));
    }
    Number::integer(&format!("{:.0}", product.trunc()))
}

fn is_adjusted(ir: &PromptIr) -> bool {
    let (Some(Value::Number(original)), Some(Value::Number(Number::Float(multiplier)))) =
        (ir.metadata.get(ORIGINAL_BUDGET), ir.metadata.get(BUDGET_MULTIPLIER))
    else {
        return false;
    };
    let priority = Number::Int(i64::from(ir.priority.get()));
    *multiplier == ir.phase.budget_multiplier()
        && adjusted_budget(original, ir.phase, &priority).as_ref() == Some(ir.token_budget.number())
}
