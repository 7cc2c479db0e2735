//! Questions to people: what a step asked, about which values, and the digest that a decision has to match.
//!
//! Invariants: a question is in the journal before anyone can decide it; a decision counts only for the
//! question whose digest it carries, so it cannot be used for another run, another execution or other values.
//! A question is kept as the call that its execution made, and ends with the result of the step.

use stave_canon::{Object, Value};
use stave_shape::Shape as _;

use super::{CallRecord, Decision, JournalError};
use crate::report_document::OpenQuestion;

/// The number of the call by which an execution asks a person. Such an execution makes no other.
const NUMBER: u32 = 0;

/// A question that a step asks a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Which execution asks. See [`address`] for the form that people use.
    pub path: String,
    /// The node that asks.
    pub node: String,
    /// The hash of the run, the path, the text and the values.
    pub digest: String,
    pub text: Option<String>,
    /// The values at the node's inputs.
    pub values: Object,
    /// Whether the same execution asked something else before, so that a decision has to name the digest.
    pub changed: bool,
}

impl Question {
    #[must_use]
    pub fn new(run: &str, path: &str, node: &str, text: Option<String>, values: Object) -> Question {
        let shown = vec![
            Value::from(run),
            path.into(),
            node.into(),
            text.clone().into(),
            Value::Object(values.clone()),
        ];
        let digest = stave_canon::sha256_hex(stave_canon::compact_utf8(&Value::Array(shown)));
        Question { path: path.to_owned(), node: node.to_owned(), digest, text, values, changed: false }
    }

    /// The execution as people name it.
    #[must_use]
    pub fn address(&self) -> String {
        address(&self.path)
    }

    #[must_use]
    pub fn to_call(&self) -> CallRecord {
        let result = Value::from_iter([
            ("asks", Value::from(self.node.as_str())),
            ("question", self.text.clone().into()),
            ("values", Value::Object(self.values.clone())),
            ("changed", self.changed.into()),
        ]);
        CallRecord { node: self.path.clone(), number: NUMBER, fingerprint: self.digest.clone(), result }
    }

    /// The question that a call is; `None` for every other call.
    #[must_use]
    pub fn of_call(call: &CallRecord) -> Option<Question> {
        if call.number != NUMBER {
            return None;
        }
        Some(Question {
            path: call.node.clone(),
            node: call.result.get("asks")?.as_str()?.to_owned(),
            digest: call.fingerprint.clone(),
            text: call.result.get("question").and_then(Value::as_str).map(str::to_owned),
            values: call.result.get("values").and_then(Value::as_object).cloned().unwrap_or_default(),
            changed: call.result.get("changed").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// The decision as it is kept, when it is one about this question.
    pub fn accept(&self, run: &str, decision: Decision) -> Result<Decision, JournalError> {
        let is_about_this = match &decision.digest {
            Some(digest) => *digest == self.digest,
            None => !self.changed,
        };
        if !is_about_this {
            return Err(JournalError::QuestionChanged { run: run.to_owned(), node: self.address() });
        }
        Ok(Decision { digest: Some(self.digest.clone()), ..decision })
    }

    /// The machine form of the question.
    #[must_use]
    pub fn to_value(&self) -> Value {
        OpenQuestion::from(self).write()
    }
}

/// The outcome of a decision about `path`, given the question that is open there and an earlier decision. The
/// first decision about a question is final; a decision about nothing that was asked is refused.
pub fn settle(
    run: &str,
    path: &str,
    open: Option<&Question>,
    earlier: Option<Decision>,
    decision: Decision,
) -> Result<Decision, JournalError> {
    match (open, earlier) {
        (Some(question), Some(earlier)) if earlier.digest.as_ref() == Some(&question.digest) => {
            question.accept(run, decision)?;
            Ok(earlier)
        }
        (Some(question), _) => question.accept(run, decision),
        // The step has used the decision and has its result.
        (None, Some(earlier)) if decision.digest.is_none() || decision.digest == earlier.digest => {
            Ok(earlier)
        }
        (None, Some(_)) => Err(JournalError::QuestionChanged { run: run.to_owned(), node: address(path) }),
        (None, None) => Err(JournalError::NotAsked { run: run.to_owned(), node: address(path) }),
    }
}

/// An execution's path as people write it: `each/3:ask` is `each[3].ask`.
#[must_use]
pub fn address(path: &str) -> String {
    let mut steps = path.split('/');
    let mut address = steps.next().unwrap_or_default().to_owned();
    for step in steps {
        match step.split_once(':') {
            Some((number, name)) => {
                address.push_str(&format!("[{number}].{name}"));
            }
            None => {
                address.push('/');
                address.push_str(step);
            }
        }
    }
    address
}

/// The path of an address.
#[must_use]
pub fn path_of(address: &str) -> String {
    let mut path = String::with_capacity(address.len());
    let mut rest = address;
    while let Some((before, after)) = rest.split_once('[') {
        match after.split_once("].") {
            Some((number, name))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                path.push_str(&format!("{before}/{number}:"));
                rest = name;
            }
            _ => {
                path.push_str(before);
                path.push('[');
                rest = after;
            }
        }
    }
    path.push_str(rest);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(approved: bool, digest: Option<&str>) -> Decision {
        let decided_at = stave_canon::Timestamp::UNIX_EPOCH;
        Decision { approved, comment: None, decided_at, decided_by: None, digest: digest.map(str::to_owned) }
    }

    #[test]
    fn an_address_leads_back_to_its_path() {
        for path in ["ask", "each/3:ask", "each/0:agent/12:ask_boss", "a.b"] {
            assert_eq!(path_of(&address(path)), path);
        }
        assert_eq!(address("each/3:ask"), "each[3].ask");
        assert_eq!(path_of("odd[x].y["), "odd[x].y[");
    }

    #[test]
    fn a_digest_belongs_to_one_run_one_execution_and_what_was_shown() {
        let values = |n: i64| Object::from_iter([("n".to_owned(), Value::from(n))]);
        let text = || Some("Pay?".to_owned());
        let question = Question::new("r", "each/0:ask", "ask", text(), values(1));
        assert_eq!(Question::of_call(&question.to_call()), Some(question.clone()));
        for other in [
            Question::new("s", "each/0:ask", "ask", text(), values(1)),
            Question::new("r", "each/1:ask", "ask", text(), values(1)),
            Question::new("r", "each/0:ask", "ask", None, values(1)),
            Question::new("r", "each/0:ask", "ask", text(), values(2)),
        ] {
            assert_ne!(other.digest, question.digest);
        }
    }

    #[test]
    fn a_decision_needs_a_question_and_the_first_one_about_it_stands() {
        let question = Question::new("r", "ask", "ask", None, Object::new());
        let yes = || decision(true, None);
        assert!(matches!(settle("r", "ask", None, None, yes()), Err(JournalError::NotAsked { .. })));
        let kept = settle("r", "ask", Some(&question), None, yes()).unwrap();
        assert_eq!(kept.digest.as_deref(), Some(question.digest.as_str()));
        let first = settle("r", "ask", Some(&question), Some(kept.clone()), decision(false, None)).unwrap();
        assert!(first.approved, "the first one is final");
        assert!(
            settle("r", "ask", None, Some(kept.clone()), yes()).unwrap().approved,
            "after the step is done"
        );
        let other = settle("r", "ask", Some(&question), None, decision(true, Some("other")));
        assert!(matches!(other, Err(JournalError::QuestionChanged { .. })));
        let changed = Question { changed: true, ..question.clone() };
        let unnamed = settle("r", "ask", Some(&changed), Some(decision(true, Some("old"))), yes());
        assert!(matches!(unnamed, Err(JournalError::QuestionChanged { .. })), "values changed");
        let named = decision(false, Some(&changed.digest));
        let old = decision(true, Some("old"));
        assert!(!settle("r", "ask", Some(&changed), Some(old), named).unwrap().approved);
    }
}
