//! What a workflow says wrongly although it can be read. One file per rule.

mod branches;
mod calls;
mod conditions;
mod duplicate_steps;
pub(crate) mod expressions;
mod inputs;
mod names;
mod step_references;
mod unknown_keys;

use super::triggers;
use super::workflow::Workflow;
use super::{Dialect, Faults};

/// Appends every finding: first those of the reference, in its order, then those it does not have.
pub(crate) fn lint(workflow: &Workflow, dialect: Dialect, faults: &mut Faults) {
    duplicate_steps::lint(workflow, faults);
    branches::lint(workflow, dialect, faults);
    inputs::lint(workflow, faults);
    step_references::lint(workflow, faults);
    calls::lint(workflow, faults);
    if dialect == Dialect::Extended {
        conditions::lint(workflow, faults);
        names::lint(workflow, faults);
        triggers::lint(workflow, faults);
        unknown_keys::lint(workflow, faults);
    }
}
