//! Codes of failed runs.

codes! { Run:
    MISSING_CONTEXT = "missing-context", Error, "A request lacks a field that the flow requires.";
    INVALID_INPUT = "invalid-input", Error, "A value does not fit the input port it arrived at.";
    INVALID_OUTPUT = "invalid-output", Error, "A node produced a value that does not fit its output port.";
    MULTIPLE_VALUES = "multiple-values", Error, "Two edges brought a value to the same port.";
    NOT_SINGLE_ROW = "not-single-row", Error, "A table of no or several rows met a port for one object.";
    OUTPUT_NOT_REACHED = "output-not-reached", Error, "A run ended without anything reaching its output.";
    NOT_FOUND = "not-found", Error, "A feature group, row, feature or model does not exist.";
    EDGE_FAILED = "edge-failed", Error, "The condition or transform of an edge failed.";
    EXPRESSION_FAILED = "expression-failed", Error, "The expression of an operation failed.";
    CODE_FAILED = "code-failed", Error, "The Python code of a node failed.";
    STEP_TIMEOUT = "step-timeout", Error, "A step gave no result within its time.";
    RUN_TIMEOUT = "run-timeout", Error, "A run took longer than it may.";
    MODEL_FAILED = "model-failed", Error, "A model could not be reached or answered with an error.";
    MODEL_REPLY_INVALID = "model-reply-invalid", Error, "A model's reply does not fit the output schema.";
    PROMPT_REFUSED = "prompt-refused", Error, "Governance refused a prompt.";
    CONTEXT_UNAVAILABLE = "context-unavailable", Error, "A prompt refers to something that it cannot be given.";
    PROMPT_TOO_LARGE = "prompt-too-large", Error, "A prompt does not fit its token budget.";
    TEMPLATE_FAILED = "template-failed", Error, "A prompt template could not be rendered.";
    ENDLESS_TOOL_CALLS = "endless-tool-calls", Error, "A model kept calling tools without giving an answer.";
    HTTP_FAILED = "http-failed", Error, "A host could not be reached or answered with an error.";
    PLANT_FAILED = "plant-failed", Error, "A plant's server could not be reached or refused a value.";
    HOST_NOT_ALLOWED = "host-not-allowed", Error, "A flow tried to call a host that the project does not allow.";
    EFFECT_NOT_ALLOWED = "effect-not-allowed", Error, "A step reaches something that the bundle of its project does not allow.";
    SECRET_MISSING = "secret-missing", Error, "A secret that a flow uses is not set.";
    SECRET_MISPLACED = "secret-misplaced", Error, "A secret is used where it would leave the flow.";
    INTERPOLATION_FAILED = "interpolation-failed", Error, "A placeholder names an absent value or one that has no text form.";
    BAD_ARGUMENT = "bad-argument", Error, "An argument of an operation has the wrong kind of value at run time.";
    STATE_FAILED = "state-failed", Error, "State or features could not be read or written.";
    TOOL_SERVER_FAILED = "tool-server-failed", Error, "A tool on an MCP server gave no result.";
    RUN_TOO_LARGE = "run-too-large", Error, "A run writes more bytes than it may.";
    RESULT_TOO_LARGE = "result-too-large", Error, "The result of a node is larger than the journal keeps.";
    BUDGET_EXCEEDED = "budget-exceeded", Error, "A run has used up its budget.";
    RUN_STOPPED = "run-stopped", Error, "A person stopped a run, or has not approved it yet.";
    UNKNOWN_STEP_KIND = "unknown-step-kind", Error, "A document has a step that this runtime does not know.";
    BAD_DOCUMENT = "bad-document", Error, "A document cannot be run although it is valid.";
}
