//! The runtime contract that a step is held to, kept in the extra property `contract` of its node.
//!
//! The system line writes contracts, `lower` lays them onto a document, and `runtime` enforces them; this
//! module is the one place that knows how they are spelt.

use stave_canon::Object;
use stave_shape::{Fault, Faults, Place, Reader, Shape};

/// What one execution of a step may use up, and which keys go in and out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Shape)]
#[shape(open, not_null)]
pub struct StepContract {
    pub contract_id: String,
    pub input_keys: Vec<String>,
    pub output_keys: Vec<String>,
    /// The time of all attempts together.
    #[shape(min = 0)]
    pub max_seconds: Option<u64>,
    /// The attempts.
    #[shape(min = 0)]
    pub max_steps: Option<u64>,
    /// What its models may write, in tokens.
    #[shape(min = 0)]
    pub max_tokens: Option<u64>,
}

impl StepContract {
    /// The extra property that has it.
    pub(crate) const PROPERTY: &str = "contract";

    /// The contract among a node's extra properties; `None` when there is none.
    pub fn read(extra: &Object) -> Result<Option<StepContract>, Faults> {
        let Some(value) = extra.get(Self::PROPERTY) else { return Ok(None) };
        let mut reader = Reader::new();
        let contract = <Self as Shape>::read(value, &Place::root().key(Self::PROPERTY), &mut reader);
        let faults: Vec<Fault> = reader.finish();
        if faults.is_empty() { Ok(contract) } else { Err(Faults(faults)) }
    }

    /// Puts the contract among a node's extra properties.
    pub fn write(&self, extra: &mut Object) {
        extra.insert(Self::PROPERTY.to_owned(), Shape::write(self));
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
    fn a_bound_that_cannot_be_read_is_reported() {
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
