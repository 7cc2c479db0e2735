//! A key that is always there and may hold `null`, as the replies of an interface have it.

use stave_canon::Value;

use crate::limits::nullable;
use crate::{Definitions, Place, Reader, Shape, ValueKind, ValueNode};

/// A value or `null`. A field of this type is required, unlike an `Option`, whose key may be absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nullable<T>(pub Option<T>);

impl<T> From<Option<T>> for Nullable<T> {
    fn from(value: Option<T>) -> Self {
        Nullable(value)
    }
}

impl<T: Shape> Shape for Nullable<T> {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if node.kind() == ValueKind::Null {
            return Some(Nullable(None));
        }
        T::read(node, at, reader).map(|value| Nullable(Some(value)))
    }

    fn write(&self) -> Value {
        self.0.as_ref().map_or(Value::Null, Shape::write)
    }

    fn schema(definitions: &mut Definitions) -> Value {
        nullable(T::schema(definitions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_a_value_and_is_written() {
        let read = |text: &str| crate::read::<Nullable<String>>(&stave_canon::parse(text).unwrap());
        assert_eq!(read("null").unwrap().write(), Value::Null);
        assert_eq!(read("\"a\"").unwrap(), Some("a".to_owned()).into());
        assert!(read("1").is_err());
        let schema = Nullable::<String>::schema(&mut Definitions::default());
        assert_eq!(schema.to_string(), r#"{"type":["string","null"]}"#);
    }
}
