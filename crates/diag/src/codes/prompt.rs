//! Codes of the prompt line.

codes! { Prompt:
    PROMPT_NOT_JSON = "prompt-not-json", Error, "A Prompt IR document is not JSON.";
    PROMPT_MISSING_FIELD = "prompt-missing-field", Error, "A Prompt IR document lacks a required field.";
    PROMPT_UNKNOWN_FIELD = "prompt-unknown-field", Error, "A Prompt IR document of version 1.0 has a field that the version does not name.";
    PROMPT_WRONG_TYPE = "prompt-wrong-type", Error, "A field of a Prompt IR document has the wrong type.";
    PROMPT_OUT_OF_RANGE = "prompt-out-of-range", Error, "A number of a Prompt IR document is out of range.";
    PROMPT_UNKNOWN_PHASE = "prompt-unknown-phase", Error, "A Prompt IR document names a phase that does not exist.";
    PROMPT_BAD_TIMESTAMP = "prompt-bad-timestamp", Error, "The creation time of a Prompt IR document is not an ISO 8601 time.";
    PROMPT_UNSUPPORTED_VERSION = "prompt-unsupported-version", Error, "A Prompt IR document has a version that cannot be read.";
    PROMPT_DENIED = "prompt-denied", Error, "A prompt contains a text that a denying policy forbids.";
    PROMPT_MISSPELT_REQUIREMENT = "prompt-misspelt-requirement", Warning, "A word in output requirements is most likely a slip of a known one.";
    PROMPT_FLAGGED = "prompt-flagged", Warning, "A prompt contains a text that a flagging policy forbids.";
}
