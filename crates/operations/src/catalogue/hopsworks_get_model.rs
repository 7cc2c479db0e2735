//! `hopsworks.get_model`: what the registry knows about a model.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Group, Receiver, ResultProvenance, ResultShape,
    StoreEntry,
};

pub static HOPSWORKS_GET_MODEL: Descriptor = Descriptor {
    name: "hopsworks.get_model",
    summary: "reads a model's entry in the registry",
    details: "The result is the entry as the registry has it. The model itself is not loaded.",
    arguments: &[
        Argument::required("name", ArgumentKind::Text, "the model's name"),
        Argument::optional("version", ArgumentKind::TextOrInteger, "a version, or `latest`")
            .default("`latest`"),
    ],
    result: ResultShape::Object,
    effects: Effects::Reads,
    network: true,
    receiver: Receiver::FeatureStore { entries: &[StoreEntry { argument: "name", kind: "model" }] },
    provenance: ResultProvenance::Retrieval,
    blank: Some(Blank {
        group: Group::Features,
        title: "Find a model",
        id: "get_model",
        node: r#"inputs: []
outputs: [{name: model, type: object}]
transform:
  mode: declarative
  spec:
    op: hopsworks.get_model
    args: {name: predictor}
"#,
    }),
    ..Descriptor::INSIDE
};
