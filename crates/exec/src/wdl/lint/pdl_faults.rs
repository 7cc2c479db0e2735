//! What a policy's expressions certainly do wrong: text that is no expression, names that nothing assigns, fields that the
//! active arm does not have, and keys of mappings that are variables.
//!
//! Invariants: the walk starts with the names that the evaluator starts with, and adds a name where the evaluator would.
//! A name that one branch or option assigns counts as assigned after it, so a finding never depends on what a run
//! decides.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::expression::{ExpressionFaultKind, KnownNames, KnownValue, analyze};
use crate::policy::{assigned_by, is_name, known_names};
use crate::wdl::policy::{Choose, Statement, WdlPolicy};
use crate::wdl::tree::Scalar;
use crate::wdl::{Faults, bake};

pub(crate) fn lint(policy: &WdlPolicy, faults: &mut Faults) {
    // The arms and `epsilon` as the evaluator will read them.
    let Ok(names) = known_names(&bake(policy, "", "")) else { return };
    let mut walk = Walk { names, changes: Vec::new(), faults };
    walk.block(&policy.evaluate);
    for field in &policy.emit {
        for scalar in field.value.scalars() {
            walk.expression(scalar, 0, &scalar.text);
        }
    }
}

struct Walk<'f> {
    /// What may be assigned at this point.
    names: KnownNames,
    /// What each change of `names` replaced, so that a branch can be undone.
    changes: Vec<(String, Option<KnownValue>)>,
    faults: &'f mut Faults,
}

impl Walk<'_> {
    fn block(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Assignment(assignment) => {
                    let scalar = &assignment.expression;
                    let known = self.expression(scalar, 0, &scalar.text);
                    self.assign(&assignment.target, known);
                }
                Statement::If(conditional) => {
                    self.expression(&conditional.condition, 0, &conditional.condition.text);
                    let mark = self.changes.len();
                    self.block(&conditional.then);
                    let then = self.undo(mark);
                    self.block(&conditional.otherwise);
                    let mut otherwise = self.undo(mark);
                    for (name, known) in then {
                        match otherwise.swap_remove(&name) {
                            Some(other) => self.assign(&name, known.or(other)),
                            None => self.may_assign(&name, known),
                        }
                    }
                    for (name, known) in otherwise {
                        self.may_assign(&name, known);
                    }
                }
                Statement::Choose(choose) => self.choose(choose),
            }
        }
    }

    /// One option is taken, and all of them see the names from before.
    fn choose(&mut self, choose: &Choose) {
        let mut taken = Vec::new();
        for option in &choose.options {
            if let Some(probability) = &option.probability {
                self.expression(probability, 0, &probability.text);
            }
            let scalar = &option.expression;
            let texts = choose.options.iter().map(|option| option.expression.text.as_str());
            let (target, value) = assigned_by(&scalar.text, texts);
            if let Some(target) = target.filter(|target| !is_name(target)) {
                let span = self.faults.span(scalar.place);
                let message = format!("`{target}` is not a name that something can be assigned to");
                let diagnostic = Diagnostic::new(codes::PDL_BAD_EXPRESSION, span, message);
                self.faults.push(diagnostic.help("write `name = value`"));
                continue;
            }
            // The value is the end of the option's text.
            let offset = scalar.text.trim_end().len() - value.trim_end().len();
            let known = self.expression(scalar, offset, value);
            taken.extend(target.map(|target| (target, known)));
        }
        for (target, known) in taken {
            self.may_assign(target, known);
        }
    }

    fn assign(&mut self, name: &str, known: KnownValue) {
        let before = self.names.insert(name.to_owned(), known);
        self.changes.push((name.to_owned(), before));
    }

    fn may_assign(&mut self, name: &str, known: KnownValue) {
        let known = match self.names.get(name) {
            Some(before) => before.clone().or(known),
            None => known,
        };
        self.assign(name, known);
    }

    /// Takes back what was assigned since the mark, and gives it.
    fn undo(&mut self, mark: usize) -> KnownNames {
        let mut assigned = KnownNames::new();
        for (name, before) in self.changes.split_off(mark).into_iter().rev() {
            let now = match before {
                Some(before) => self.names.insert(name.clone(), before),
                None => self.names.swap_remove(&name),
            };
            // The last assignment comes first here, and it decides.
            if let Some(now) = now {
                assigned.entry(name).or_insert(now);
            }
        }
        assigned
    }

    /// Reports what fails in a text that begins `offset` bytes into a scalar.
    fn expression(&mut self, scalar: &Scalar, offset: usize, text: &str) -> KnownValue {
        let (known, found) = match analyze(text, &self.names) {
            Ok(analysis) => analysis,
            Err(error) => {
                let span = self.faults.span(scalar.place);
                self.faults.push(Diagnostic::new(codes::PDL_BAD_EXPRESSION, span, error.to_string()));
                return KnownValue::Any;
            }
        };
        for fault in found {
            let code = match fault.kind {
                ExpressionFaultKind::UnknownName => codes::PDL_UNKNOWN_NAME,
                ExpressionFaultKind::UnknownField => codes::PDL_UNKNOWN_FIELD,
                ExpressionFaultKind::MappingKey => codes::PDL_MAPPING_KEY,
            };
            let mut place = scalar.place;
            place.end = place.start + offset + fault.range.end;
            place.start += offset + fault.range.start;
            let span = self.faults.span(place);
            self.faults.push(Diagnostic::new(code, span, fault.message).help(fault.help));
        }
        known
    }
}
