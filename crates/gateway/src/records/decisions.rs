//! What gates and policies decided about a request, as its record keeps it.

use stave_canon::Value;
use stave_shape::Shape;

use super::GateDecision;

/// A decision in the file.
#[derive(Debug, Clone, PartialEq, Eq, Shape)]
#[shape(open)]
pub struct RecordedDecision {
    /// `redact`, `route`, `refuse` or `flag`.
    pub action: String,
    /// The rule's, the label's or the policy's name.
    pub rule: String,
    /// How many places it was applied to.
    pub places: u32,
    /// The part of the request; absent in records of earlier versions.
    pub field: Option<String>,
    /// Whether a policy decided, and not the gate; absent in records of earlier versions.
    pub policy: Option<bool>,
}

/// The decisions as text; `None` when there are none.
pub(super) fn text(decisions: &[GateDecision]) -> Option<String> {
    let kept = decisions.iter().map(|decision| {
        RecordedDecision {
            action: decision.action.to_string(),
            rule: decision.rule.to_string(),
            places: decision.places,
            field: Some(decision.field.to_string()),
            policy: Some(decision.is_policy),
        }
        .write()
    });
    (!decisions.is_empty()).then(|| Value::Array(kept.collect()).to_string())
}

/// The decisions of a text. Earlier versions wrote `ACTION:RULE:PLACES`, separated by spaces.
pub(super) fn read(text: &str) -> Vec<RecordedDecision> {
    if let Ok(value) = stave_canon::parse(text) {
        return stave_shape::read_leniently(&value).0.unwrap_or_default();
    }
    let decision = |text: &str| {
        let (decided, places) = text.rsplit_once(':')?;
        let (action, rule) = decided.split_once(':')?;
        Some(RecordedDecision {
            action: action.to_owned(),
            rule: rule.to_owned(),
            places: places.parse().ok()?,
            field: None,
            policy: None,
        })
    };
    text.split(' ').filter_map(decision).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_read_as_they_were_written_and_as_earlier_versions_wrote_them() {
        let decision = GateDecision {
            action: "redact".into(),
            rule: "a rule: with signs".into(),
            places: 2,
            field: "user".into(),
            is_policy: false,
        };
        let kept = read(&text(&[decision]).unwrap());
        assert_eq!((kept[0].rule.as_str(), kept[0].field.as_deref()), ("a rule: with signs", Some("user")));
        let earlier = read("redact:email:2 refuse:restricted:1");
        let rules: Vec<(&str, u32)> = earlier.iter().map(|one| (one.rule.as_str(), one.places)).collect();
        assert_eq!(rules, [("email", 2), ("restricted", 1)]);
        assert_eq!((text(&[]), read("").len(), read("?? ?:").len()), (None, 0, 0));
    }
}
