//! The expressions of a policy can be parsed and use nothing that does not exist.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::expression;
use crate::wdl::Faults;
use crate::wdl::policy::{Statement, WdlPolicy};
use crate::wdl::tree::Scalar;

pub(crate) fn lint(policy: &WdlPolicy, faults: &mut Faults) {
    let mut texts: Vec<&Scalar> = Vec::new();
    let mut options: Vec<&Scalar> = Vec::new();
    let mut waiting: Vec<&Statement> = policy.evaluate.iter().rev().collect();
    while let Some(statement) = waiting.pop() {
        match statement {
            Statement::Assignment(assignment) => texts.push(&assignment.expression),
            Statement::If(conditional) => {
                texts.push(&conditional.condition);
                waiting.extend(conditional.otherwise.iter().rev());
                waiting.extend(conditional.then.iter().rev());
            }
            Statement::Choose(choose) => {
                for option in &choose.options {
                    options.push(&option.expression);
                    texts.extend(option.probability.as_ref());
                }
            }
        }
    }
    texts.extend(policy.emit.iter().flat_map(|field| field.value.scalars()));
    for text in texts {
        check(text, &text.text, faults);
    }
    for option in options {
        let value = crate::policy::assigned(&option.text).map_or(option.text.as_str(), |(_, value)| value);
        check(option, value, faults);
    }
}

fn check(scalar: &Scalar, text: &str, faults: &mut Faults) {
    if let Err(error) = expression::check(text) {
        let span = faults.span(scalar.place);
        faults.push(Diagnostic::new(codes::PDL_BAD_EXPRESSION, span, error.to_string()));
    }
}
