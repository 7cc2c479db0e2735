//! What calls have used up, kept with the calls, so that a resumed run continues from there.
//!
//! Invariants: with a budget, what a call may use is in the journal before the call is made, and what it used
//! replaces that together with its answer; so a run that is resumed after a kill at any moment counts at least what
//! was used. Calls of steps that are done count by their reports; their records are gone by then. What a call that was
//! killed may have used counts against the budget, and no report shows it as used.

use std::sync::PoisonError;

use stave_canon::{Object, Value};
use stave_llm::Usage;
use stave_llm::prices::Cost;

use crate::budget::Planned;
use crate::failure::Failure;
use crate::journal::{CallRecord, JournalError, usage_of, usage_value};
use crate::report::NodeReport;
use crate::run::{Call, Run};

/// The member of a call's record that says what the call used.
const SPENT: &str = "spent";

/// The member of that which says what calls may have used whose answer nobody has.
const UNSETTLED: &str = "unsettled";

/// The number under which an execution counts its calls to hosts, which have no answers of their own.
const HOSTS: u32 = u32::MAX;

/// What the tries of one call have used up.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Spend {
    /// The node whose report counts it.
    pub(crate) node: String,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    /// What it cost, when the model has a price.
    pub(crate) cost: Option<Cost>,
    pub(crate) calls: u64,
    pub(crate) unsettled: Option<Unsettled>,
}

/// What calls may have used at most whose answer nobody has: they are under way, or their process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Unsettled {
    pub(crate) usage: Usage,
    /// What it costs, when every model has a price.
    pub(crate) cost: Option<Cost>,
}

impl Unsettled {
    /// This and more.
    fn plus(self, more: Unsettled) -> Unsettled {
        let cost = self.cost.zip(more.cost).map(|(cost, more)| cost + more);
        let mut usage = self.usage;
        usage += more.usage;
        Unsettled { usage, cost }
    }

    pub(crate) fn to_value(self) -> Value {
        Value::from_iter([
            ("usage", usage_value(&self.usage)),
            ("cost_picodollars", self.cost.map(|cost| cost.picodollars().to_string()).into()),
        ])
    }

    pub(crate) fn of(value: &Value) -> Option<Unsettled> {
        let usage = value.get("usage").and_then(|usage| usage_of(usage).ok())?;
        Some(Unsettled { usage, cost: cost_of(value) })
    }
}

fn cost_of(value: &Value) -> Option<Cost> {
    let picodollars = value.get("cost_picodollars").and_then(Value::as_str)?;
    picodollars.parse().ok().map(Cost::from_picodollars)
}

/// The sum of two amounts that may be absent.
fn sum(one: Option<Unsettled>, other: Option<Unsettled>) -> Option<Unsettled> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.plus(other)),
        (one, other) => one.or(other),
    }
}

impl Spend {
    /// What a call that is about to be made may use: none of it is used yet.
    pub(crate) fn unsettled(self) -> Spend {
        let unsettled = self.usage.map(|usage| Unsettled { usage, cost: self.cost });
        Spend { usage: None, cost: None, unsettled, ..self }
    }

    /// What this and an earlier try of the same call used.
    pub(crate) fn after(mut self, earlier: &Spend) -> Spend {
        self.calls = self.calls.saturating_add(earlier.calls);
        self.unsettled = sum(self.unsettled, earlier.unsettled);
        if let Some(before) = earlier.usage {
            let priced = self.usage.is_none() || self.cost.is_some();
            self.cost =
                earlier.cost.filter(|_| priced).map(|cost| self.cost.map_or(cost, |more| cost + more));
            *self.usage.get_or_insert_default() += before;
        }
        self
    }

    fn to_value(&self) -> Value {
        Value::from_iter([
            ("node", Value::from(self.node.as_str())),
            ("model", self.model.clone().into()),
            ("usage", self.usage.as_ref().map_or(Value::Null, usage_value)),
            ("cost_picodollars", self.cost.map(|cost| cost.picodollars().to_string()).into()),
            ("calls", self.calls.into()),
            (UNSETTLED, self.unsettled.map_or(Value::Null, Unsettled::to_value)),
        ])
    }

    /// What a record says that its call used.
    pub(crate) fn of(record: &CallRecord) -> Option<Spend> {
        let value = record.result.get(SPENT)?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        Some(Spend {
            node: text("node")?.to_owned(),
            model: text("model").map(str::to_owned),
            usage: value.get("usage").and_then(|usage| usage_of(usage).ok()),
            cost: cost_of(value),
            calls: value.get("calls").and_then(Value::as_i64).and_then(|calls| u64::try_from(calls).ok())?,
            unsettled: value.get(UNSETTLED).and_then(Unsettled::of),
        })
    }

    /// A call's answer with what the call used.
    pub(crate) fn within(&self, mut answer: Value) -> Value {
        if let Some(members) = answer.as_object_mut() {
            members.insert(SPENT.into(), self.to_value());
        }
        answer
    }
}

/// Whether the answer of a call says what the call used, so that it was counted when the run was resumed.
pub(crate) fn is_counted(answer: &Value) -> bool {
    answer.get(SPENT).is_some()
}

impl NodeReport {
    /// Counts calls that the node made.
    pub(crate) fn charge(&mut self, spend: &Spend) {
        self.calls = self.calls.saturating_add(u32::try_from(spend.calls).unwrap_or(u32::MAX));
        if spend.model.is_some() {
            self.model.clone_from(&spend.model);
        }
        if let Some(usage) = spend.usage {
            let first = self.usage.is_none();
            *self.usage.get_or_insert_default() += usage;
            let both = self.cost.zip(spend.cost).map(|(before, cost)| before + cost);
            self.cost = if first { spend.cost } else { both };
        }
        self.unsettled = sum(self.unsettled, spend.unsettled);
    }

    /// Counts calls that were made before the run was interrupted, by a step that has no result.
    pub(crate) fn charge_earlier(&mut self, spend: &Spend) {
        self.charge(spend);
        if spend.model.is_some() {
            // Each further try of a model counts as an attempt of its step.
            let further = spend.calls.saturating_sub(1);
            self.attempts = self.attempts.saturating_add(u32::try_from(further).unwrap_or(u32::MAX));
        }
    }
}

impl Run<'_> {
    /// Counts what the calls of steps without a result used before the run was interrupted.
    pub(crate) fn restore_spending(&self) {
        for spend in self.calls.records().iter().filter_map(Spend::of) {
            self.spending.add(spend.usage, spend.cost, spend.calls);
            self.spending.add_unsettled(spend.unsettled);
            if let Some(index) = self.plan.index(&spend.node) {
                self.report(index, |report| report.charge_earlier(&spend));
            }
        }
    }
}

impl Call<'_> {
    /// Counts a call to someone outside, unless the run has made as many as it may. With a budget the count is
    /// written down before the call is made.
    pub async fn count(&self) -> Result<(), Failure> {
        let clock = &self.services.clock;
        let reserving = self.run.spending.reserve(Planned::free(), || clock.elapsed());
        // It is made for certain, so it is spent at once.
        drop(self.run.unless_halted(reserving).await??);
        let spend = Spend { node: self.node.id.clone(), calls: 1, ..Spend::default() };
        self.run.report(self.index, |report| report.charge(&spend));
        let earlier = self.spent_before(HOSTS);
        self.write_spend(HOSTS, spend.after(&earlier)).await
    }

    /// What earlier tries of a call used, before this process or in it.
    pub(crate) fn spent_before(&self, number: u32) -> Spend {
        let records = self.run.calls.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.get(&(self.path.to_owned(), number)).and_then(Spend::of).unwrap_or_default()
    }

    /// Writes down what a call may use or has used, when the run has a budget that the call counts for.
    pub(crate) async fn write_spend(&self, number: u32, spend: Spend) -> Result<(), Failure> {
        if !self.run.plan.policy.budget.is_shared() {
            return Ok(());
        }
        let result = spend.within(Value::Object(Object::new()));
        let written: Result<(), JournalError> = self.write_answer(number, String::new(), result, None).await;
        written.map_err(|error| self.run.stop_unwritten(error))
    }
}
