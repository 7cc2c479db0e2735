//! `hopsworks.read_features`: the newest features of an entity as of a time.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Receiver, ResultProvenance, ResultShape,
    StoreEntry,
};

pub static HOPSWORKS_READ_FEATURES: Descriptor = Descriptor {
    name: "hopsworks.read_features",
    summary: "reads features of one entity as of a time",
    details: "The result is one row: the features by name. A key that has no row by then fails the step.",
    arguments: &[
        Argument::optional("feature_group", ArgumentKind::Text, "the feature group to read"),
        Argument::optional("feature_view", ArgumentKind::Text, "the feature view to read"),
        Argument::required(
            "key",
            ArgumentKind::Key,
            "the entity: a value, or a mapping from key column to value",
        ),
        Argument::optional("as_of", ArgumentKind::Text, "the time, RFC 3339, after which nothing is seen")
            .default("the time of the request"),
        Argument::optional(
            "features",
            ArgumentKind::TextList,
            "the features to read; all of them when absent",
        )
        .default("all of them"),
        Argument::optional("version", ArgumentKind::TextOrInteger, "the version of the group or view"),
    ],
    one_of: &[&["feature_group", "feature_view"]],
    result: ResultShape::Object,
    effects: Effects::Reads,
    network: true,
    receiver: Receiver::FeatureStore {
        entries: &[
            StoreEntry { argument: "feature_group", kind: "feature_group" },
            StoreEntry { argument: "feature_view", kind: "feature_view" },
        ],
    },
    provenance: ResultProvenance::Retrieval,
    blank: Some(Blank {
        group: Group::Features,
        title: "Read features",
        id: "read_features",
        node: r#"inputs: [{name: key, type: string}]
outputs: [{name: features, type: object}]
transform:
  mode: declarative
  spec:
    op: hopsworks.read_features
    args: {feature_group: customers, key: "${key}"}
"#,
    }),
    ..Descriptor::INSIDE
};
