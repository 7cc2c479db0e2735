//! `hopsworks.write_features`: rows into a feature group.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, DuplicateKey, Effects, Group, Receiver, Repeat,
    ResultProvenance, ResultShape, StoreEntry,
};

pub static HOPSWORKS_WRITE_FEATURES: Descriptor = Descriptor {
    name: "hopsworks.write_features",
    summary: "writes rows to a feature group",
    details: "The result is `{written: COUNT}`. Rows with the same key and time replace each other.",
    arguments: &[
        Argument::required("feature_group", ArgumentKind::Text, "the feature group to write to"),
        Argument::required("data", ArgumentKind::Any, "a row, or a list of rows"),
        Argument::optional("event_time", ArgumentKind::Text, "the time of the rows, RFC 3339")
            .default("the time of the request"),
        Argument::optional("version", ArgumentKind::TextOrInteger, "the version of the group"),
    ],
    result: ResultShape::Object,
    effects: Effects::Writes,
    network: true,
    repeat: Repeat::SafeWith {
        key: DuplicateKey::Argument("event_time"),
        advice: "add `event_time`, so that the same rows are written over themselves, or leave `retries` out",
    },
    receiver: Receiver::FeatureStore {
        entries: &[StoreEntry { argument: "feature_group", kind: "feature_group" }],
    },
    provenance: ResultProvenance::Retrieval,
    blank: Some(Blank {
        group: Group::Features,
        title: "Write features",
        id: "write_features",
        node: r#"inputs: [{name: data, type: object}]
outputs: []
transform:
  mode: declarative
  spec:
    op: hopsworks.write_features
    args: {feature_group: predictions, data: "${data}"}
"#,
    }),
    ..Descriptor::INSIDE
};
