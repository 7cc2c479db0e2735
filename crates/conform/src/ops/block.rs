//! Ops of the block line. The header of [`super`] says how one is added.

use super::Table;

pub(super) const OPS: Table = &[];
