//! YAML trees as what shapes are read from.

use std::ops::Range;

use stave_canon::{Number, Value};
use stave_diag::Span;
use stave_shape::{MemberKey, ValueKind, ValueNode};

use crate::{Tree, TreeValue};

fn range(span: Span) -> Option<Range<usize>> {
    Some(span.start as usize..span.end as usize)
}

impl ValueNode for &Tree {
    fn kind(self) -> ValueKind {
        match &self.value {
            TreeValue::Null => ValueKind::Null,
            TreeValue::Bool(_) => ValueKind::Boolean,
            TreeValue::Number(number) if number.is_integer() => ValueKind::Integer,
            TreeValue::Number(_) => ValueKind::Number,
            TreeValue::String(_) => ValueKind::String,
            TreeValue::Sequence(_) => ValueKind::Array,
            TreeValue::Mapping(_) => ValueKind::Object,
        }
    }

    fn boolean(self) -> Option<bool> {
        if let TreeValue::Bool(value) = &self.value { Some(*value) } else { None }
    }

    fn number(self) -> Option<Number> {
        if let TreeValue::Number(number) = &self.value { Some(number.clone()) } else { None }
    }

    fn text(&self) -> Option<&str> {
        Tree::text(self).map(crate::Text::as_str)
    }

    fn items(self, visit: impl FnMut(Self)) {
        Tree::items(self).unwrap_or_default().iter().for_each(visit);
    }

    fn members(self, mut visit: impl FnMut(MemberKey<'_>, Self)) {
        for entry in self.entries().unwrap_or_default() {
            visit(MemberKey { text: &entry.key.value, span: range(entry.key.span) }, &entry.value);
        }
    }

    fn span(self) -> Option<Range<usize>> {
        range(self.span)
    }

    fn to_value(self) -> Value {
        Tree::to_value(self)
    }
}

#[cfg(test)]
mod tests {
    use stave_diag::SourceId;
    use stave_shape::{Shape, read};

    #[derive(Debug, PartialEq, Shape)]
    struct Retry {
        #[shape(max = 9)]
        attempts: u32,
        codes: Vec<u16>,
        jitter: Option<bool>,
    }

    fn faults_of(text: &str) -> Vec<String> {
        let document = crate::read(SourceId(0), text);
        let faults = read::<Retry>(&document.root.expect("the text is YAML")).expect_err("it has faults");
        let place = |span: Option<std::ops::Range<usize>>| span.map_or("", |span| &text[span]).to_owned();
        faults.0.iter().map(|fault| format!("{fault} [{}]", place(fault.span.clone()))).collect()
    }

    #[test]
    fn a_mapping_is_read_as_a_shape() {
        let document = crate::read(SourceId(0), "attempts: 3\ncodes: [429, 503]\n");
        let retry: Retry = read(&document.root.unwrap()).unwrap();
        assert_eq!(retry, Retry { attempts: 3, codes: vec![429, 503], jitter: None });
    }

    #[test]
    fn every_fault_has_the_place_of_its_value_or_key() {
        let found = faults_of("attempts: 12\ncodes: [429, many, 70000]\njitter: 'no'\nretries: 1\n");
        let wanted = [
            "/retries: `retries` is not a key of this object [retries]",
            "/attempts: must be at most 9, not 12 [12]",
            "/codes/1: must be an integer, not a string [many]",
            "/codes/2: must be between 0 and 65535, not 70000 [70000]",
            "/jitter: must be a boolean, not a string ['no']",
        ];
        assert_eq!(found, wanted);
    }
}
