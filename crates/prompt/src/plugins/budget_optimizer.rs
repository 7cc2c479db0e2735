//! Adjusts the token budget by phase and priority.

use stave_canon::{Ids, Layout, Number, Value, write};

use super::{Plugin, PluginChange, PluginError};
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
/// processing a prompt twice does not raise its budget twice. Below a ceiling the adjusted budget stops there, and an
/// adjustment that changes nothing is no transformation: a record names only a budget that applies.
#[derive(Debug, Clone, Copy, Default)]
pub struct BudgetOptimizer {
    ceiling: Option<u64>,
}

impl BudgetOptimizer {
    pub const NAME: &'static str = "BudgetOptimizerPlugin";

    /// An optimizer that raises no budget above `ceiling`.
    #[must_use]
    pub fn within(ceiling: u64) -> BudgetOptimizer {
        BudgetOptimizer { ceiling: Some(ceiling) }
    }

    /// The budget of a prompt that is `original` before it is adjusted.
    fn adjusted(self, original: &Number, ir: &PromptIr) -> Option<Number> {
        let priority = Number::Int(i64::from(ir.priority.get()));
        let adjusted = adjusted_budget(original, ir.phase, &priority)?;
        let ceiling = self.ceiling.filter(|ceiling| adjusted.as_f64() > *ceiling as f64);
        Some(ceiling.map_or(adjusted, |ceiling| TokenBudget::from(ceiling).number().clone()))
    }

    fn is_adjusted(self, ir: &PromptIr) -> bool {
        let (Some(Value::Number(original)), Some(Value::Number(Number::Float(multiplier)))) =
            (ir.metadata.get(ORIGINAL_BUDGET), ir.metadata.get(BUDGET_MULTIPLIER))
        else {
            return false;
        };
        *multiplier == ir.phase.budget_multiplier()
            && self.adjusted(original, ir).as_ref() == Some(ir.token_budget.number())
    }

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

    fn transform(&self, ir: &PromptIr, ids: &dyn Ids) -> Result<Option<PluginChange>, PluginError> {
        if self.is_adjusted(ir) {
            return Ok(None);
        }
        let original = ir.token_budget.number();
        let adjusted = self
            .adjusted(original, ir)
            .ok_or_else(|| PluginError("the budget is beyond every double".to_owned()))?;
        if self.ceiling.is_some() && adjusted == *original {
            return Ok(None);
        }
        let description = Self::description(original, &adjusted);
        let token_budget = TokenBudget::new(adjusted)
            .ok_or_else(|| PluginError("the adjusted budget would be negative".to_owned()))?;
        let mut changed = ir.clone_with_id(ids);
        changed.token_budget = token_budget;
        changed.metadata.reserve(2);
        changed.metadata.insert(ORIGINAL_BUDGET.to_owned(), original.clone().into());
        changed.metadata.insert(BUDGET_MULTIPLIER.to_owned(), ir.phase.budget_multiplier().into());
        Ok(Some(PluginChange { ir: changed, transformation_type: "budget_optimization".into(), description }))
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

#[cfg(test)]
mod tests {
    use stave_canon::{CountingIds, FixedClock};

    use super::*;
    use crate::PromptIrBuilder;

    fn prompt(budget: u64) -> PromptIr {
        let builder = PromptIrBuilder::new("reviewer", "review").phase(PhaseType::Research);
        builder
            .set_token_budget(budget)
            .build(&CountingIds::new(), &FixedClock(stave_canon::Timestamp::default()))
            .unwrap()
    }

    #[test]
    fn a_budget_stops_at_the_ceiling_and_an_unchanged_one_is_not_recorded() {
        let adjusted = |budget, ceiling| {
            let change = BudgetOptimizer::within(ceiling).transform(&prompt(budget), &CountingIds::new());
            change.unwrap().map(|change| change.description)
        };
        assert_eq!(adjusted(1000, 2000).as_deref(), Some("Adjusted budget: 1000 -> 1300"));
        assert_eq!(adjusted(1000, 1100).as_deref(), Some("Adjusted budget: 1000 -> 1100"));
        assert_eq!(adjusted(1000, 1000), None);
    }

    #[test]
    fn a_budget_at_the_ceiling_is_not_raised_again() {
        let optimizer = BudgetOptimizer::within(1100);
        let once = optimizer.transform(&prompt(1000), &CountingIds::new()).unwrap().unwrap().ir;
        assert!(optimizer.transform(&once, &CountingIds::new()).unwrap().is_none());
    }
}
