//! `hopsworks.get_model`: what the registry knows about a model.

use super::{Kind, OperationSchema, optional, required};

pub(super) const SCHEMA: OperationSchema = OperationSchema {
    name: "hopsworks.get_model",
    summary: "reads a model's entry in the registry",
    arguments: &[
        required("name", Kind::Text, "the model's name"),
        optional("version", Kind::TextOrInteger, "a version, or `latest`"),
    ],
    one_of: &[],
    effects: false,
};
