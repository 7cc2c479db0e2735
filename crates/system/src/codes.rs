//! The codes of the system line, as faults and issues carry them.

use stave_diag::Code;

pub const SYSTEM_NOT_JSON: Code = Code("system-not-json");
pub const SYSTEM_MISSING_FIELD: Code = Code("system-missing-field");
pub const SYSTEM_WRONG_TYPE: Code = Code("system-wrong-type");
pub const SYSTEM_BAD_VALUE: Code = Code("system-bad-value");
pub const SYSTEM_UNKNOWN_KEY: Code = Code("system-unknown-key");
pub const SYSTEM_UNSUPPORTED_VERSION: Code = Code("system-unsupported-version");
pub const SYSTEM_CROSS_TENANT: Code = Code("system-cross-tenant");
pub const SYSTEM_DUPLICATE_ID: Code = Code("system-duplicate-id");
pub const SYSTEM_BROKEN_CONTRACT: Code = Code("system-broken-contract");
pub const SYSTEM_WRONG_CONTRACT: Code = Code("system-wrong-contract");
pub const SYSTEM_UNKNOWN_DEPENDENCY: Code = Code("system-unknown-dependency");
pub const SYSTEM_DEPENDENCY_CYCLE: Code = Code("system-dependency-cycle");
pub const SYSTEM_BAD_KNOWLEDGE_HUB: Code = Code("system-bad-knowledge-hub");
pub const SYSTEM_UNDECLARED_EFFECTS: Code = Code("system-undeclared-effects");
pub const SYSTEM_BAD_POLICY_NODE: Code = Code("system-bad-policy-node");
pub const BUNDLE_BAD_SHAPE: Code = Code("bundle-bad-shape");
pub const BUNDLE_CROSS_TENANT: Code = Code("bundle-cross-tenant");
pub const BUNDLE_IR_MISMATCH: Code = Code("bundle-ir-mismatch");
pub const BUNDLE_SPEC_MISMATCH: Code = Code("bundle-spec-mismatch");
pub const BUNDLE_UNKNOWN_REFERENCE: Code = Code("bundle-unknown-reference");
pub const BUNDLE_INTENT_MISMATCH: Code = Code("bundle-intent-mismatch");
pub const BUNDLE_NETWORK_MISMATCH: Code = Code("bundle-network-mismatch");
pub const BUNDLE_CONTENT_DRIFT: Code = Code("bundle-content-drift");
pub const BUNDLE_MISALIGNED_DEPLOYMENT: Code = Code("bundle-misaligned-deployment");
