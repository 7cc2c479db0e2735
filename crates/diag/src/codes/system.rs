//! Codes of system documents and runtime bundles.

codes! { System:
    SYSTEM_NOT_JSON = "system-not-json", Error, "A system document is not JSON.";
    SYSTEM_MISSING_FIELD = "system-missing-field", Error, "A system document or bundle lacks a required field.";
    SYSTEM_WRONG_TYPE = "system-wrong-type", Error, "A value of a system document is of another kind than its field takes.";
    SYSTEM_BAD_VALUE = "system-bad-value", Error, "A value of a system document cannot be meant.";
    SYSTEM_UNKNOWN_KEY = "system-unknown-key", Error, "A contract has a key that the specification does not name.";
    SYSTEM_UNSUPPORTED_VERSION = "system-unsupported-version", Error, "A system document is of a version that cannot be read.";
    SYSTEM_CROSS_TENANT = "system-cross-tenant", Error, "A row belongs to another tenant than its document.";
    SYSTEM_DUPLICATE_ID = "system-duplicate-id", Error, "Two nodes, triggers or transitions share an id.";
    SYSTEM_BROKEN_CONTRACT = "system-broken-contract", Error, "The parts of a contract contradict each other.";
    SYSTEM_WRONG_CONTRACT = "system-wrong-contract", Warning, "A workflow or intent node lacks the contract of its category.";
    SYSTEM_UNKNOWN_DEPENDENCY = "system-unknown-dependency", Error, "A node depends on itself or on something that is not there.";
    SYSTEM_DEPENDENCY_CYCLE = "system-dependency-cycle", Error, "Dependencies lead back to where they began.";
    SYSTEM_BAD_KNOWLEDGE_HUB = "system-bad-knowledge-hub", Error, "A knowledge hub is not alone or does not say what it knows.";
    SYSTEM_UNDECLARED_EFFECTS = "system-undeclared-effects", Error, "A node that is deployed has neither effects nor a contract.";
    SYSTEM_BAD_POLICY_NODE = "system-bad-policy-node", Error, "A policy node holds something other than lists of actions.";
    BUNDLE_BAD_SHAPE = "bundle-bad-shape", Error, "A runtime bundle is not of a known shape.";
    BUNDLE_CROSS_TENANT = "bundle-cross-tenant", Error, "A bundle, its envelope and its document have different owners.";
    BUNDLE_IR_MISMATCH = "bundle-ir-mismatch", Error, "A bundle does not name its document.";
    BUNDLE_SPEC_MISMATCH = "bundle-spec-mismatch", Error, "A bundle does not name its orchestration or coordination.";
    BUNDLE_UNKNOWN_REFERENCE = "bundle-unknown-reference", Error, "A bundle refers to something that is not there.";
    BUNDLE_INTENT_MISMATCH = "bundle-intent-mismatch", Error, "The two parts of a bundle about its intent disagree.";
    BUNDLE_NETWORK_MISMATCH = "bundle-network-mismatch", Error, "A bundle allows a network that is forbidden.";
    BUNDLE_CONTENT_DRIFT = "bundle-content-drift", Error, "A bundle repeats its document wrongly.";
    BUNDLE_MISALIGNED_DEPLOYMENT = "bundle-misaligned-deployment", Error, "Deployment intents and deployable nodes differ.";
}
