//! `policy.apply`: what the policy that was baked into the document decides for some values.
//!
//! The policy is read-only data; its expressions are evaluated without Python. Random numbers are derived
//! from the step's idempotency key, so a step that is attempted again decides the same.

use async_trait::async_trait;
use stave_canon::Value;
use stave_diag::codes::run as codes;

use super::{Step, StepOutput, bad_argument, optional_argument};
use crate::{Failure, failure::FailureKind, run::Call};

#[derive(Debug)]
pub(super) struct PolicyApply;

#[async_trait]
impl Step for PolicyApply {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        let values = optional_argument(call, &call.scope(), "values")?.unwrap_or_default();
        let epsilon = match optional_argument(call, &call.scope(), "epsilon")? {
            None => None,
            Some(value) => Some(value.as_f64().ok_or_else(|| bad_argument("epsilon", "a number"))?),
        };
        let policy = &call.run.plan.document.constants.policy;
        let mut draws = 0_u64;
        let mut random = || {
            draws += 1;
            Some(number(call.idempotency_key, draws))
        };
        let decided = stave_exec::policy::apply(policy, &values, epsilon, &mut random)
            .map_err(|error| Failure::new(codes::EXPRESSION_FAILED, FailureKind::Code, error.to_string()))?;
        Ok(StepOutput::Whole(Value::Object(decided)))
    }
}

/// The draw of a key with this number: at least 0 and below 1.
fn number(key: &str, draw: u64) -> f64 {
    let digest = stave_canon::sha256_hex(format!("{key}\n{draw}"));
    let bits = digest.get(..13).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
    // Thirteen hexadecimal digits are 52 bits, which a double holds exactly.
    bits as f64 / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn draws_are_in_range_repeatable_and_different() {
        let draws: Vec<f64> = (0..1000).map(|draw| number("key", draw)).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        assert_eq!(draws, (0..1000).map(|draw| number("key", draw)).collect::<Vec<_>>());
        let mean = draws.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
        assert_ne!(number("key", 1).to_bits(), number("other", 1).to_bits());
    }
}
