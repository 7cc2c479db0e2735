//! JSON Schemas of flows: which ones are admitted, whether a value fits one, and what an answer has to be.
//!
//! A schema and a value both come from outside, and the cost of a validation is a product of the two that can be
//! exponential. Invariants: a schema whose own expansion explodes is refused when it is compiled, by the checker and
//! by the runtime alike. A validation begins only after its cost was measured and found within [`MOST_STEPS`], so it
//! ends within about a second. Regular expressions run on an engine that does not backtrack.

mod admit;
mod cost;
mod graph;
mod requirements;
mod short_form;
mod slips;
mod validator;

pub use admit::SchemaFault;
pub use cost::MOST_STEPS;
pub use requirements::{BadRequirements, OutputFormat, OutputRequirements};
pub use short_form::json_schema;
pub use slips::{Nearest, RequirementSlip};
pub use validator::{SchemaValidator, SchemaViolation};
