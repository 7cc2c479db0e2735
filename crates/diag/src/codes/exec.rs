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
    EXEC_UNKNOWN_WORD = "exec-unknown-word", Error, "A property of an exec document holds a word that it does not take.";
    EXEC_OUT_OF_RANGE = "exec-out-of-range", Error, "A number of an exec document is out of range.";
    EXEC_BAD_TIMESTAMP = "exec-bad-timestamp", Error, "The generation time of an exec document is not an RFC 3339 UTC timestamp.";
    EXEC_UNKNOWN_PROPERTY = "exec-unknown-property", Error, "A closed object of an exec document has a property that the schema does not name.";
    EXEC_LATER_VERSION = "exec-later-version", Warning, "An exec document is of a later minor version, whose additions have no effect.";
    EXEC_BAD_MANIFEST = "exec-bad-manifest", Error, "A manifest does not describe the documents beside it.";
    WDL_EMPTY_DOCUMENT = "wdl-empty-document", Error, "A workflow or policy file says nothing.";
    WDL_PARSE_ERROR = "wdl-parse-error", Error, "A workflow or policy does not have the form of its language.";
    WDL_DUPLICATE_STEP_ID = "wdl-duplicate-step-id", Error, "Two steps of a workflow share an id.";
    WDL_MISSING_INPUT = "wdl-missing-input", Error, "A workflow uses an input that it does not declare.";
    WDL_UNKNOWN_STEP_REF = "wdl-unknown-step-ref", Error, "A workflow uses the result of a step that has not run there.";
    WDL_EMPTY_BRANCH = "wdl-empty-branch", Error, "A `when` of a workflow has no steps.";
    WDL_NO_CALL_STEPS = "wdl-no-call-steps", Error, "A workflow calls nothing.";
    WDL_BAD_CONDITION = "wdl-bad-condition", Error, "The condition of a `when` cannot be compiled.";
    WDL_BAD_STEP_ID = "wdl-bad-step-id", Error, "The id of a step is not an identifier.";
    WDL_BAD_TRIGGER = "wdl-bad-trigger", Error, "A trigger of a workflow is of no known kind or lacks a setting.";
    WDL_MISSING_POLICY = "wdl-missing-policy", Error, "A workflow applies a policy, and no policy file has its name.";
    WDL_STEP_CYCLE = "wdl-step-cycle", Error, "A step of a workflow waits for itself.";
    WDL_UNKNOWN_KEY = "wdl-unknown-key", Warning, "A top-level key of a workflow means nothing.";
    PDL_BAD_EXPRESSION = "pdl-bad-expression", Error, "An expression of a policy cannot be evaluated.";
    PDL_UNKNOWN_NAME = "pdl-unknown-name", Error, "A policy uses a name that nothing assigns.";
    PDL_UNKNOWN_FIELD = "pdl-unknown-field", Error, "A policy uses a field that the active arm does not have.";
    PDL_MAPPING_KEY = "pdl-mapping-key", Error, "A key of a mapping in a policy is a variable or another value that is not a text.";
    SHARED_FLOW_NAME = "shared-flow-name", Error, "Two flows have the same name, or two sources the same output file.";
}
