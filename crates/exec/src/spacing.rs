//! How the attempts of a step are spaced, kept in the extra property `retry_spacing` of its node.
//!
//! `retry.backoff_ms` is the wait between attempts. A node that asks for something else says so here, because the
//! specification closes the object `retry` and leaves room in the node.

use stave_canon::Object;
pub use stave_retry::RetrySpacing;
use stave_shape::{Faults, Shape};

pub(crate) const PROPERTY: &str = "retry_spacing";

/// The spacing among a node's extra properties; fixed when there is none.
pub fn read(extra: &Object) -> Result<RetrySpacing, Faults> {
    extra.get(PROPERTY).map_or(Ok(RetrySpacing::Fixed), stave_shape::read)
}

/// Puts the spacing among a node's extra properties.
pub fn write(spacing: RetrySpacing, extra: &mut Object) {
    extra.insert(PROPERTY.to_owned(), Shape::write(&spacing));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spacing_is_read_as_it_was_written_and_is_fixed_when_absent() {
        assert_eq!(read(&Object::new()), Ok(RetrySpacing::Fixed));
        for spacing in RetrySpacing::ALL {
            let mut extra = Object::new();
            write(spacing, &mut extra);
            assert_eq!(read(&extra), Ok(spacing));
        }
        let extra = Object::from_iter([(PROPERTY.to_owned(), "linear".into())]);
        assert!(read(&extra).is_err());
    }
}
