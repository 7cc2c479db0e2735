//! Codes of exec documents.

codes! { Exec:
    EXEC_NOT_JSON = "exec-not-json", Error, "An exec document is not JSON.";
    EXEC_UNSUPPORTED_VERSION = "exec-unsupported-version", Error, "An exec document has a version that this runtime does not take.";
    EXEC_MISSING_FIELD = "exec-missing-field", Error, "An exec document lacks a required property.";
    EXEC_WRONG_TYPE = "exec-wrong-type", Error, "A property of an exec document has the wrong type.";
    EXEC_EMPTY_STRING = "exec-empty-string", Error, "A required text of an exec document is empty.";
    EXEC_BAD_IDENTIFIER = "exec-bad-identifier", Error, "A flow name or node id of an exec document is not an identifier.";
    EXEC_NO_NODES = "exec-no-nodes", Error, "An exec document has an empty graph.";
    EXEC_DUPLICATE_NODE = "exec-duplicate-node", Error, "Two nodes of an exec document share an id.";
    EXEC_UNKNOWN_NODE = "exec-unknown-node", Error, "An edge of an exec document names a node that does not exist.";
    EXEC_UNKNOWN_TRANSITION = "exec-unknown-transition", Error, "An edge of an exec document has an unknown transition reason.";
    EXEC_OUT_OF_RANGE = "exec-out-of-range", Error, "A timeout or retry field of an exec document is out of range.";
    EXEC_BAD_TIMESTAMP = "exec-bad-timestamp", Error, "The generation time of an exec document is not an RFC 3339 UTC timestamp.";
    EXEC_UNKNOWN_PROPERTY = "exec-unknown-property", Error, "A closed object of an exec document has a property that the schema does not name.";
}
