//! The runtime contract that a step is held to, kept in the extra property `contract` of its node.
//!
//! The system line writes contracts, `lower` lays them onto a document, and `runtime` enforces them; this
//! module is the one place that knows how they are spelt.

use stave_canon::{Object, Value};

use crate::dataflow::BadProperty;

const PROPERTY: &str = "contract";

/// What one execution of a step may use up, and which keys go in and out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepContract {
    pub contract_id: String,
    pub input_keys: Vec<String>,
    pub output_keys: Vec<String>,
    /// The time of all attempts together.
    pub max_seconds: Option<u64>,
    /// The attempts.
    pub max_steps: Option<u64>,
    /// What its models may write, in tokens.
    pub max_tokens: Option<u64>,
}

impl StepContract {
    /// The contract among a node's extra properties; `None` when there is none.
    pub fn read(extra: &Object) -> Result<Option<StepContract>, BadProperty> {
        let Some(value) = extra.get(PROPERTY) else { return Ok(None) };
        let bad = |key: &str, wanted| BadProperty { property: format!("{PROPERTY}.{key}"), wanted };
        let object =
            value.as_object().ok_or(BadProperty { property: PROPERTY.to_owned(), wanted: "an object" })?;
        let count = |key: &str| match object.get(key) {
            None => Ok(None),
            Some(value) => {
                let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
                count.map(Some).ok_or_else(|| bad(key, "a whole number that is not negative"))
            }
        };
        let texts = |key: &str| -> Result<Vec<String>, BadProperty> {
            let items = object.get(key).and_then(Value::as_array);
            let texts =
                items.map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
            texts.flatten().ok_or_else(|| bad(key, "a list of texts"))
        };
        let contract_id = object.get("contract_id").and_then(Value::as_str);
        Ok(Some(StepContract {
            contract_id: contract_id.ok_or_else(|| bad("contract_id", "a text"))?.to_owned(),
            input_keys: texts("input_keys")?,
            output_keys: texts("output_keys")?,
            max_seconds: count("max_seconds")?,
            max_steps: count("max_steps")?,
            max_tokens: count("max_tokens")?,
        }))
    }

    /// Puts the contract among a node's extra properties.
    pub fn write(&self, extra: &mut Object) {
        let mut contract = Object::new();
        contract.insert("contract_id".to_owned(), self.contract_id.as_str().into());
        contract.insert("input_keys".to_owned(), self.input_keys.clone().into());
        contract.insert("output_keys".to_owned(), self.output_keys.clone().into());
        let bounds = [
            ("max_seconds", self.max_seconds),
            ("max_steps", self.max_steps),
            ("max_tokens", self.max_tokens),
        ];
        for (key, bound) in bounds {
            if let Some(bound) = bound {
                contract.insert(key.to_owned(), bound.into());
            }
        }
        extra.insert(PROPERTY.to_owned(), contract.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contract_is_read_as_it_was_written() {
        let contract = StepContract {
            contract_id: "opc_rt_1".to_owned(),
            input_keys: vec!["q".to_owned()],
            output_keys: vec!["a".to_owned(), "b".to_owned()],
            max_seconds: Some(30),
            max_steps: None,
            max_tokens: Some(0),
        };
        let mut extra = Object::new();
        assert_eq!(StepContract::read(&extra), Ok(None));
        contract.write(&mut extra);
        assert_eq!(StepContract::read(&extra), Ok(Some(contract)));
    }

    #[test]
    fn a_bound_that_can_not_be_understood_is_told() {
        for text in [
            r#"{"contract": 1}"#,
            r#"{"contract": {"contract_id": "c", "input_keys": [], "output_keys": [], "max_steps": -1}}"#,
            r#"{"contract": {"contract_id": "c", "input_keys": [1], "output_keys": []}}"#,
            r#"{"contract": {"input_keys": [], "output_keys": []}}"#,
        ] {
            let extra = stave_canon::parse(text).unwrap();
            assert!(StepContract::read(extra.as_object().unwrap()).is_err(), "{text}");
        }
    }
}
