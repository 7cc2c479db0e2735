//! `hopsworks.read_features`: the newest features of an entity as of a time.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "hopsworks.read_features",
    summary: "reads features of one entity as of a time",
    arguments: &[
        optional("feature_group", Kind::Text, "the feature group to read"),
        optional("feature_view", Kind::Text, "the feature view to read"),
        required("key", Kind::Key, "the entity: a value, or a mapping from key column to value"),
        optional("as_of", Kind::Text, "the time, RFC 3339, after which nothing is seen"),
        optional("features", Kind::TextList, "the features to read; all of them when absent"),
        optional("version", Kind::TextOrInteger, "the version of the group or view"),
    ],
    one_of: &[&["feature_group", "feature_view"]],
    effects: false,
};
