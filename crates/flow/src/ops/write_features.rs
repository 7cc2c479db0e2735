//! `hopsworks.write_features`: rows into a feature group.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "hopsworks.write_features",
    summary: "writes rows to a feature group",
    arguments: &[
        required("feature_group", Kind::Text, "the feature group to write to"),
        required("data", Kind::Any, "a row, or a list of rows"),
        optional("event_time", Kind::Text, "the time of the rows, RFC 3339"),
        optional("version", Kind::TextOrInteger, "the version of the group"),
    ],
    one_of: &[],
    effects: true,
};
