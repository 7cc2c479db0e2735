//! Codes of the flow line.

codes! { Flow:
    // Shape.
    BAD_ENDPOINT = "bad-endpoint", Error, "An end of an edge is not `node.port` or `node`.";
    MISSING_FIELD = "missing-field", Error, "A required field is not there.";
    NO_IMPLEMENTATION = "no-implementation", Error, "A node has neither a transform nor a prompt.";
    NOT_A_FLOW = "not-a-flow", Error, "A file holds something other than a flow.";
    OUT_OF_RANGE = "out-of-range", Error, "A number is outside the range its field allows.";
    UNKNOWN_FIELD = "unknown-field", Warning, "A field is not one that its place knows.";
    UNKNOWN_WORD = "unknown-word", Error, "A field with a closed list of words has another word.";
    UNSUPPORTED_VERSION = "unsupported-version", Error, "The flow is of a version that is not read.";
    UNKNOWN_MINOR_VERSION = "unknown-minor-version", Warning, "The flow is of a later minor version.";
    NEEDS_LATER_VERSION = "needs-later-version", Error, "A field needs a later version of the format.";
    UNQUOTED_VERSION = "unquoted-version", Warning, "The version is a number instead of a text.";
    WRONG_TYPE = "wrong-type", Error, "A field holds a value of another kind.";
    BAD_TIMESTAMP = "bad-timestamp", Warning, "A time is not written as RFC 3339 has it.";
    // Names.
    BAD_NAME = "bad-name", Error, "A node, port or context field has a name outside the pattern.";
    DUPLICATE_PORT = "duplicate-port", Error, "A node has two ports of one name in one direction.";
    ID_MISMATCH = "id-mismatch", Error, "A node's `id` differs from its key.";
    RESERVED_NAME = "reserved-name", Error, "A port or context field has a name that means something else.";
    // Edges.
    AMBIGUOUS_PORT = "ambiguous-port", Error, "An edge names no port and several could be meant.";
    CONFLICTING_REQUEST_TYPES = "conflicting-request-types", Error, "A request field feeds ports that no single type satisfies.";
    CONTESTED_PORT = "contested-port", Warning, "Two edges that are always active enter one port.";
    CYCLE = "cycle", Error, "Edges lead back to where they began.";
    DANGLING_EDGE = "dangling-edge", Error, "An edge begins or ends at a node that is not there.";
    DISJOINT_SCHEMAS = "disjoint-schemas", Error, "No value satisfies the schemas at both ends of an edge.";
    INCOMPATIBLE_TYPES = "incompatible-types", Error, "An edge connects port types that do not fit.";
    MISPLACED_PSEUDO_NODE = "misplaced-pseudo-node", Error, "An edge enters `_input` or leaves `_output`.";
    MISMATCHED_TRANSFORM = "mismatched-transform", Warning, "The transform of an edge gives a type that its end does not take.";
    MIXED_OUTPUT = "mixed-output", Error, "Edges enter `_output` as a whole and by field.";
    NO_OUTPUT = "no-output", Warning, "No edge enters `_output`.";
    UNCONNECTED_INPUT = "unconnected-input", Error, "No edge feeds a required input.";
    UNKNOWN_PORT = "unknown-port", Error, "A name is not a port of its node.";
    BAD_ELSE = "bad-else", Error, "An edge with `else` has no conditions to be the alternative of.";
    UNPRICED_MODEL = "unpriced-model", Warning, "A run has a cost budget, and one of its models has no price.";
    EXCESS_TOKEN_BUDGET = "excess-token-budget", Warning, "A prompt has a larger token budget than a run gives it.";
    UNROUTED_DENIAL = "unrouted-denial", Error, "A prompt routes its denial to something that is not there.";
    UNUSED_NODE = "unused-node", Warning, "Nothing uses what a node without effects makes.";
    // Schemas.
    COSTLY_SCHEMA = "costly-schema", Error, "Values cost too much to check against a schema.";
    BAD_SCHEMA = "bad-schema", Error, "A schema is not valid JSON Schema.";
    SCHEMA_DRIFT = "schema-drift", Warning, "A prompt's `output_schema` and its port's schema say different things.";
    SCHEMA_TYPE_CONFLICT = "schema-type-conflict", Error, "A port's schema excludes the port's type.";
    UNKNOWN_PROPERTY = "unknown-property", Warning, "A path goes through a property that the schema does not name.";
    UNPROVEN_SCHEMA = "unproven-schema", Warning, "What leaves a port may not fit the schema where it arrives.";
    // Context, placeholders and operations.
    BAD_ADDRESS = "bad-address", Error, "The address of a request does not say where it leads.";
    BAD_HEADER = "bad-header", Error, "A flow sets a header that it cannot set.";
    BAD_PLACEHOLDER = "bad-placeholder", Error, "A `${…}` is not a path.";
    CONFLICTING_ARGUMENTS = "conflicting-arguments", Warning, "An operation has two arguments that exclude each other.";
    EMBEDDED_CONTAINER = "embedded-container", Error, "A `${…}` puts an object or a list inside a text.";
    MAYBE_ABSENT = "maybe-absent", Warning, "A `${…}` reads an optional input that may be absent.";
    MISPLACED_SECRET = "misplaced-secret", Error, "A secret is used where it could leak.";
    MISSING_ARGUMENT = "missing-argument", Error, "An operation lacks an argument it needs.";
    RESERVED_OP = "reserved-op", Warning, "An operation is reserved and cannot be run.";
    UNDECLARED_CONTEXT = "undeclared-context", Error, "A context field is used but not declared.";
    UNKNOWN_ARGUMENT = "unknown-argument", Warning, "An operation has an argument it does not know.";
    UNKNOWN_OP = "unknown-op", Error, "An operation is not in the catalogue.";
    UNKNOWN_ROOT = "unknown-root", Error, "A placeholder begins with a name that is not in reach.";
    // Prompts and tools.
    COMPETING_REQUIREMENTS = "competing-requirements", Error, "A prompt states the form of its answer more than once.";
    UNKNOWN_SCHEMA = "unknown-schema", Error, "A prompt names an output schema that the project does not have.";
    UNKNOWN_TEMPLATE = "unknown-template", Error, "A prompt names a template that the project does not have.";
    BAD_STATIC_RESPONSE = "bad-static-response", Error, "A static response breaks the prompt's output schema.";
    DUPLICATE_TOOL = "duplicate-tool", Error, "A prompt has two tools of one name.";
    EMPTY_FALLBACK = "empty-fallback", Warning, "A fallback has neither a model nor a response.";
    LOST_EDGE = "lost-edge", Error, "An edge begins at a node that runs only when another one calls it.";
    TOOL_LOOP = "tool-loop", Error, "A tool leads to a node on a path with its caller.";
    TOOL_PARAMETER = "tool-parameter", Error, "A tool's parameter fits no input of its node.";
    UNANSWERED_TOOL = "unanswered-tool", Error, "Nothing answers a tool's calls.";
    UNKNOWN_PROVIDER = "unknown-provider", Error, "A provider is one that nobody knows.";
    PROVIDER_WITHOUT_CLIENT = "provider-without-client", Warning, "A provider is known, and its models cannot be asked.";
    BAD_TEST = "bad-test", Error, "A test of the flow cannot be run or can never pass.";
    UNKNOWN_TOOL_TARGET = "unknown-tool-target", Error, "A tool names a node that is not there.";
    VOLATILE_SYSTEM_TEXT = "volatile-system-text", Warning, "A system text changes from request to request.";
    // Code in its node.
    EXTRA_OUTPUT = "extra-output", Warning, "Code or a template gives a key that is not an output of its node.";
    LACKING_OUTPUT = "lacking-output", Warning, "Code or a template lacks a required output of its node.";
    UNKNOWN_INPUT = "unknown-input", Error, "Code reads an input that its node does not have.";
    // State and caching.
    BAD_STATE_KEY = "bad-state-key", Error, "A state key is not a template.";
    CACHED_EFFECT = "cached-effect", Error, "A node with effects has a cache.";
    CONFLICTING_TTL = "conflicting-ttl", Error, "Two nodes give one state record different lifetimes.";
    REPEATED_EFFECT = "repeated-effect", Warning, "An operation with effects is retried without a way to tell attempts apart.";
    RESERVED_BACKEND = "reserved-backend", Warning, "A state backend is reserved by the specification.";
    SESSION_WITHOUT_ID = "session-without-id", Error, "Session state is used without a session id.";
    STATE_NOT_CONFIGURED = "state-not-configured", Error, "Code uses state that its node does not have.";
    STATE_RACE = "state-race", Error, "Two nodes write one state record in no certain order.";
    TTL_ON_REQUEST_STATE = "ttl-on-request-state", Error, "State of one request has a lifetime.";
    UNKEYED_CACHE = "unkeyed-cache", Error, "A stateful node has a cache without a key.";
    UNSCOPED_STATE_KEY = "unscoped-state-key", Warning, "A session state key names no session or user.";
    LITERAL_SECRET = "literal-secret", Warning, "A text looks like a secret that should not be in a file.";
    // Labels.
    SENSITIVE_DATA_LEAK = "sensitive-data-leak", Error, "Sensitive data reaches a receiver outside its scope.";
    LOWERED_LABEL = "lowered-label", Error, "A flow lowers a label without the project's consent.";
    // Deployment.
    MEMORY_ACROSS_REPLICAS = "memory-across-replicas", Warning, "Sessions are kept in the memory of one of several copies.";
    FEATURES_ON_OWN_DISK = "features-on-own-disk", Warning, "A served flow writes features to the disk of one copy of the service.";
    INVALID_DEPLOYMENT_VALUE = "invalid-deployment-value", Error, "A value of the deployment is one that its target refuses.";
    REPLICAS_REVERSED = "replicas-reversed", Error, "The least number of replicas is above the greatest.";
    RENAMED_SERVICE = "renamed-service", Warning, "The service's name had to be changed to be legal.";
    // Leniencies, which only the strict dialect reports.
    AWAIT_IN_DEF = "await-in-def", Error, "Code awaits in a `def` that is not `async`.";
    IMPLICIT_CONTEXT = "implicit-context", Error, "A built-in context field is used without being declared.";
    IMPLICIT_ID = "implicit-id", Error, "A node leaves its `id` to its key.";
    IMPLICIT_TRANSFORM = "implicit-transform", Error, "A prompt node leaves its transform out.";
    UNTYPED_ERROR_PORT = "untyped-error-port", Error, "An error port has no type.";
}
