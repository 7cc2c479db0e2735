//! What a run may use up, as a pure ledger: may a step begin, may a call be made, what is left, what is charged.
//!
//! Executors ask and wait; the ledger decides. It has no lock and no clock: the time that the run has taken comes in
//! with each question.
//!
//! Invariants: a call is granted only while it fits with the longest answer that it may get, so the calls that are
//! under way never need more than is left together. A call that fits only when others use less than they hold back
//! has to wait for them. The holder of a reservation waits for no other, so nobody waits for ever.

use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;

use crate::failure::{Failure, FailureKind};

/// Bounds on a whole run; what is absent is not bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// Tokens of all model calls, in and out.
    pub tokens: Option<u64>,
    pub picodollars: Option<u128>,
    /// Calls to models and hosts, every attempt counted.
    pub calls: Option<u64>,
    pub wall: Option<Duration>,
    /// Executions of steps.
    pub steps: Option<u64>,
}

/// What was used up, or is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amounts {
    pub tokens: u64,
    pub picodollars: u128,
    pub calls: u64,
    pub steps: u64,
}

/// What a call may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedCall {
    /// A call to a host: no tokens, and no cost that anyone knows.
    Host,
    Model {
        input: u64,
        /// The longest answer that the request asks for, when it says so.
        output: Option<u64>,
        /// The longest answer that the model can give.
        longest: u64,
        /// `None` for a model without a price.
        price: Option<TokenPrice>,
    },
}

/// Picodollars per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenPrice {
    pub input: u64,
    pub output: u64,
}

/// The answer to whether a call may be made.
#[derive(Debug, PartialEq)]
pub enum CallAnswer {
    Granted(Reservation),
    /// It could fit once others have used less than they hold back.
    Wait,
    Refused(Failure),
}

/// What a call may use, held back until it is known what it used.
#[derive(Debug, PartialEq, Eq)]
pub struct Reservation {
    held: Amounts,
    /// The longest answer that was reserved.
    pub output: u64,
    /// The most that the call costs, when the model has a price.
    pub picodollars: Option<u128>,
}

/// What a run was allowed and what it has used.
#[derive(Debug)]
pub struct Ledger {
    allowance: Allowance,
    /// What was used, reservations included.
    used: Amounts,
    /// The part of it that is reserved. The actual use may be lower.
    held: Amounts,
    reservations: usize,
}

impl Ledger {
    /// A run that has used something up before.
    #[must_use]
    pub fn new(allowance: Allowance, used: Amounts) -> Self {
        Ledger { allowance, used, held: Amounts::default(), reservations: 0 }
    }

    /// What was used, reservations included.
    #[must_use]
    pub fn used(&self) -> Amounts {
        self.used
    }

    /// Charges something that was done in any case.
    pub fn charge(&mut self, amounts: Amounts) {
        self.used = self.used.plus(amounts);
    }

    /// Makes room for a step. `wall` is the time that the run has taken.
    pub fn step(&mut self, wall: Duration) -> Result<(), Failure> {
        let used = self.used.steps;
        let over = if let Some(limit) = self.allowance.steps.filter(|limit| used >= *limit) {
            format!("{used} of {limit} steps")
        } else if let Some(limit) = self.allowance.wall.filter(|limit| wall >= *limit) {
            format!("{} ms of {} ms", wall.as_millis(), limit.as_millis())
        } else {
            self.used.steps = used.saturating_add(1);
            return Ok(());
        };
        let message = format!("the run's budget does not cover another step: {over}");
        Err(self.exceeded(self.used, wall, message))
    }

    /// Makes room for one call.
    pub fn reserve(&mut self, planned: PlannedCall, wall: Duration) -> CallAnswer {
        let output = match self.room(self.used, planned, wall) {
            // A shorter answer than the model may give is asked for only when nobody can give anything back.
            Ok(output) if output < planned.wanted() && self.reservations > 0 => return CallAnswer::Wait,
            Ok(output) => output,
            Err(failure) => {
                let settled = self.used.minus(self.held);
                let could_fit = self.reservations > 0 && self.room(settled, planned, wall).is_ok();
                return if could_fit { CallAnswer::Wait } else { CallAnswer::Refused(failure) };
            }
        };
        let picodollars = planned.cost(output);
        let held = Amounts {
            tokens: planned.tokens(output),
            picodollars: picodollars.unwrap_or_default(),
            calls: 1,
            steps: 0,
        };
        self.used = self.used.plus(held);
        self.held = self.held.plus(held);
        self.reservations += 1;
        CallAnswer::Granted(Reservation { held, output, picodollars })
    }

    /// Makes room for another attempt of a call, unless the run has made as many calls as it may. The calls of
    /// others are made for certain, so there is nothing to wait for.
    pub fn add_attempt(&mut self, reservation: &mut Reservation) -> bool {
        if self.allowance.calls.is_some_and(|limit| self.used.calls >= limit) {
            return false;
        }
        let one = Amounts { calls: 1, ..Amounts::default() };
        reservation.held = reservation.held.plus(one);
        self.used = self.used.plus(one);
        self.held = self.held.plus(one);
        true
    }

    /// Charges what a call used in the place of what was held back for it. Without `used`, nobody knows what the
    /// call used, and all that was held back stays spent: the call may have been made.
    pub fn settle(&mut self, reservation: &Reservation, used: Option<Amounts>) {
        if let Some(used) = used {
            self.used = self.used.minus(reservation.held).plus(used);
        }
        self.held = self.held.minus(reservation.held);
        self.reservations = self.reservations.saturating_sub(1);
    }

    /// The longest answer of a call that fits beside what is used. A model without a price cannot be kept to a
    /// budget of money.
    fn room(&self, used: Amounts, planned: PlannedCall, wall: Duration) -> Result<u64, Failure> {
        let over = |what: &str, used_up: String, limit: String| {
            let message =
                format!("the run's budget does not cover another call: {what} {used_up} of {limit}");
            self.exceeded(used, wall, message)
        };
        let allowance = &self.allowance;
        if let Some(limit) = allowance.calls.filter(|limit| used.calls >= *limit) {
            return Err(over("calls:", used.calls.to_string(), limit.to_string()));
        }
        if let Some(limit) = allowance.wall.filter(|limit| wall >= *limit) {
            let limit = format!("{} ms", limit.as_millis());
            return Err(over("time:", format!("{} ms", wall.as_millis()), limit));
        }
        let PlannedCall::Model { input, output, longest, price } = planned else { return Ok(0) };
        // An answer has one token at least.
        let least = output.unwrap_or(1);
        let mut room = output.unwrap_or(longest);
        if let Some(limit) = allowance.tokens {
            let needed = input.saturating_add(least);
            let left = limit.saturating_sub(used.tokens);
            if needed > left || left == 0 {
                let used_up = format!("{} and at least {needed} more", used.tokens);
                return Err(over("tokens:", used_up, limit.to_string()));
            }
            room = room.min(left.saturating_sub(input));
        }
        if let Some(limit) = allowance.picodollars {
            let Some((price, cost)) = price.zip(planned.cost(least)) else {
                let message = format!(
                    "the run has a cost budget of {}, and the model has no price, so its calls cannot be counted; \
                     give its price under `[prices]` in stave.toml, or use a budget of tokens",
                    dollars(limit)
                );
                return Err(self.exceeded(used, wall, message));
            };
            let more = used.picodollars.saturating_add(cost);
            if more > limit {
                return Err(over("it would cost", dollars(more), dollars(limit)));
            }
            let longer = limit.saturating_sub(more).checked_div(price.output.into()).unwrap_or(u128::MAX);
            room = room.min(least.saturating_add(u64::try_from(longer).unwrap_or(u64::MAX)));
        }
        Ok(room)
    }

    /// The failure of a run that has used up its budget, with what was used and what was allowed.
    fn exceeded(&self, used: Amounts, wall: Duration, message: String) -> Failure {
        let Allowance { tokens, picodollars, calls, wall: longest, steps } = self.allowance;
        let amounts = [
            ("tokens", Some(used.tokens.into()), tokens.map(Value::from)),
            (
                "cost_usd",
                Some(in_dollars(used.picodollars).into()),
                picodollars.map(|cost| in_dollars(cost).into()),
            ),
            ("calls", Some(used.calls.into()), calls.map(Value::from)),
            ("steps", Some(used.steps.into()), steps.map(Value::from)),
            ("wall_ms", Some(milliseconds(wall).into()), longest.map(|wall| milliseconds(wall).into())),
        ];
        let mut details = [Object::new(), Object::new()];
        for (key, used, allowed) in amounts {
            for (object, value) in details.iter_mut().zip([used, allowed]) {
                object.extend(value.map(|value: Value| (key.to_owned(), value)));
            }
        }
        let [used, allowed] = details.map(Value::Object);
        Failure::new(codes::BUDGET_EXCEEDED, FailureKind::Budget, message)
            .details(Value::from_iter([("used", used), ("allowed", allowed)]))
    }
}

impl PlannedCall {
    /// The longest answer that it would like to have room for.
    fn wanted(self) -> u64 {
        match self {
            PlannedCall::Host => 0,
            PlannedCall::Model { output, longest, .. } => output.unwrap_or(longest),
        }
    }

    fn tokens(self, answer: u64) -> u64 {
        match self {
            PlannedCall::Host => 0,
            PlannedCall::Model { input, .. } => input.saturating_add(answer),
        }
    }

    /// What the call costs with an answer of that many tokens.
    fn cost(self, answer: u64) -> Option<u128> {
        let PlannedCall::Model { input, price: Some(price), .. } = self else { return None };
        // Products of two 64-bit numbers fit.
        let (read, written) =
            (u128::from(input) * u128::from(price.input), u128::from(answer) * u128::from(price.output));
        Some(read.saturating_add(written))
    }
}

impl Reservation {
    /// How many attempts are reserved.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        self.held.calls
    }
}

impl Amounts {
    #[must_use]
    pub fn plus(self, more: Amounts) -> Amounts {
        Amounts {
            tokens: self.tokens.saturating_add(more.tokens),
            picodollars: self.picodollars.saturating_add(more.picodollars),
            calls: self.calls.saturating_add(more.calls),
            steps: self.steps.saturating_add(more.steps),
        }
    }

    fn minus(self, less: Amounts) -> Amounts {
        Amounts {
            tokens: self.tokens.saturating_sub(less.tokens),
            picodollars: self.picodollars.saturating_sub(less.picodollars),
            calls: self.calls.saturating_sub(less.calls),
            steps: self.steps.saturating_sub(less.steps),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Dollars to the millionth, rounded up: a budget must not be exceeded by what rounding hides.
fn in_dollars(picodollars: u128) -> f64 {
    u64::try_from(picodollars.div_ceil(1_000_000)).unwrap_or(u64::MAX) as f64 / 1e6
}

fn dollars(picodollars: u128) -> String {
    format!("{:.6} $", in_dollars(picodollars))
}
