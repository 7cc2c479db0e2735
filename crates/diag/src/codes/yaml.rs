//! Codes of the YAML text itself.

codes! { Flow:
    COMPLEX_KEY = "complex-key", Error, "A mapping has a list or a mapping as a key.";
    DUPLICATE_KEY = "duplicate-key", Error, "A mapping has the same key twice.";
    SEVERAL_DOCUMENTS = "several-documents", Error, "A file holds more than one YAML document.";
    UNKNOWN_ALIAS = "unknown-alias", Error, "An alias names no anchor ahead of it.";
    UNKNOWN_TAG = "unknown-tag", Error, "A value has a YAML tag outside the core schema.";
    UNREPRESENTABLE_VALUE = "unrepresentable-value", Error, "A value cannot be written as JSON.";
    YAML_SYNTAX = "yaml-syntax", Error, "The text is not YAML.";
    YAML_TOO_LARGE = "yaml-too-large", Error, "A document is past the bounds on size, depth or aliases.";
}
