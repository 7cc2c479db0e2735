//! Codes of the flow line.

codes! { Flow:
    // Shape.
    BAD_ENDPOINT = "bad-endpoint", Error, "an end of an edge is not `node.port` or `node`";
    MISSING_FIELD = "missing-field", Error, "a required field is not there";
    NO_IMPLEMENTATION = "no-implementation", Error, "a node has neither a transform nor a prompt";
    NOT_A_FLOW = "not-a-flow", Error, "a file holds something other than a flow";
    OUT_OF_RANGE = "out-of-range", Error, "a number is outside the range its field allows";
    UNKNOWN_FIELD = "unknown-field", Warning, "a field is not one that its place knows";
    UNKNOWN_WORD = "unknown-word", Error, "a field with a closed list of words has another word";
    UNSUPPORTED_VERSION = "unsupported-version", Error, "the flow is of a version that is not read";
    UNKNOWN_MINOR_VERSION = "unknown-minor-version", Warning, "the flow is of a later minor version";
    UNQUOTED_VERSION = "unquoted-version", Warning, "the version is a number instead of a text";
    WRONG_TYPE = "wrong-type", Error, "a field holds a value of another kind";
    BAD_TIMESTAMP = "bad-timestamp", Warning, "a time is not written as RFC 3339 has it";
    // Names.
    BAD_NAME = "bad-name", Error, "a node, port or context field has a name outside the pattern";
    DUPLICATE_PORT = "duplicate-port", Error, "a node has two ports of one name in one direction";
    ID_MISMATCH = "id-mismatch", Error, "a node's `id` differs from its key";
    RESERVED_NAME = "reserved-name", Error, "a port or context field has a name that means something else";
    // Edges.
    AMBIGUOUS_PORT = "ambiguous-port", Error, "an edge names no port and several could be meant";
    CONFLICTING_REQUEST_TYPES = "conflicting-request-types", Error, "a request field feeds ports that no single type satisfies";
    CONTESTED_PORT = "contested-port", Warning, "two edges that are always active enter one port";
    CYCLE = "cycle", Error, "edges lead back to where they began";
    DANGLING_EDGE = "dangling-edge", Error, "an edge begins or ends at a node that is not there";
    DISJOINT_SCHEMAS = "disjoint-schemas", Error, "no value satisfies the schemas at both ends of an edge";
    INCOMPATIBLE_TYPES = "incompatible-types", Error, "an edge connects port types that do not fit";
    MISPLACED_PSEUDO_NODE = "misplaced-pseudo-node", Error, "an edge enters `_input` or leaves `_output`";
    MIXED_OUTPUT = "mixed-output", Error, "edges enter `_output` as a whole and by field";
    NO_OUTPUT = "no-output", Warning, "no edge enters `_output`";
    UNCONNECTED_INPUT = "unconnected-input", Error, "no edge feeds a required input";
    UNKNOWN_PORT = "unknown-port", Error, "a name is not a port of its node";
    UNUSED_NODE = "unused-node", Warning, "nothing uses what a node without effects makes";
    // Schemas.
    BAD_SCHEMA = "bad-schema", Error, "a schema is not valid JSON Schema";
    SCHEMA_TYPE_CONFLICT = "schema-type-conflict", Error, "a port's schema excludes the port's type";
    // Context, placeholders and operations.
    BAD_PLACEHOLDER = "bad-placeholder", Error, "a `${…}` is not a path";
    CONFLICTING_ARGUMENTS = "conflicting-arguments", Warning, "an operation has two arguments that exclude each other";
    EMBEDDED_CONTAINER = "embedded-container", Error, "a `${…}` puts an object or a list inside a text";
    MAYBE_ABSENT = "maybe-absent", Warning, "a `${…}` reads an optional input that may be absent";
    MISPLACED_SECRET = "misplaced-secret", Error, "a secret stands where it could leak";
    MISSING_ARGUMENT = "missing-argument", Error, "an operation lacks an argument it needs";
    RESERVED_OP = "reserved-op", Warning, "an operation is reserved and can not be run";
    UNDECLARED_CONTEXT = "undeclared-context", Error, "a context field is used but not declared";
    UNKNOWN_ARGUMENT = "unknown-argument", Warning, "an operation has an argument it does not know";
    UNKNOWN_OP = "unknown-op", Error, "an operation is not in the catalogue";
    UNKNOWN_ROOT = "unknown-root", Error, "a placeholder begins with a name that is not in reach";
    // Prompts and tools.
    BAD_STATIC_RESPONSE = "bad-static-response", Error, "a static response breaks the prompt's output schema";
    DUPLICATE_TOOL = "duplicate-tool", Error, "a prompt has two tools of one name";
    EMPTY_FALLBACK = "empty-fallback", Warning, "a fallback has neither a model nor a response";
    TOOL_LOOP = "tool-loop", Error, "a tool leads to a node on a path with its caller";
    TOOL_PARAMETER = "tool-parameter", Error, "a tool's parameter fits no input of its node";
    UNANSWERED_TOOL = "unanswered-tool", Error, "nothing answers a tool's calls";
    UNKNOWN_PROVIDER = "unknown-provider", Warning, "a provider is not one that the specification names";
    UNKNOWN_TOOL_TARGET = "unknown-tool-target", Error, "a tool names a node that is not there";
    // Code in its node.
    EXTRA_OUTPUT = "extra-output", Warning, "code returns a key that is no output of its node";
    LACKING_OUTPUT = "lacking-output", Warning, "code returns without a required output of its node";
    UNKNOWN_INPUT = "unknown-input", Error, "code reads an input that its node does not have";
    // State and caching.
    BAD_STATE_KEY = "bad-state-key", Error, "a state key is not a template";
    CACHED_EFFECT = "cached-effect", Error, "a node with effects has a cache";
    CONFLICTING_TTL = "conflicting-ttl", Error, "two nodes give one state record different lifetimes";
    RESERVED_BACKEND = "reserved-backend", Warning, "a state backend is reserved and can not be used";
    SESSION_WITHOUT_ID = "session-without-id", Error, "session state is used without a session id";
    STATE_NOT_CONFIGURED = "state-not-configured", Error, "code uses state that its node does not have";
    STATE_RACE = "state-race", Error, "two nodes write one state record in no certain order";
    TTL_ON_REQUEST_STATE = "ttl-on-request-state", Error, "state of one request has a lifetime";
    UNKEYED_CACHE = "unkeyed-cache", Error, "a stateful node has a cache without a key";
    UNSCOPED_STATE_KEY = "unscoped-state-key", Warning, "a session state key names no session or user";
    // Deployment.
    REPLICAS_REVERSED = "replicas-reversed", Error, "the least number of replicas is above the greatest";
    RENAMED_SERVICE = "renamed-service", Warning, "the service's name had to be changed to be legal";
    // Leniencies, which only the strict dialect reports.
    IMPLICIT_CONTEXT = "implicit-context", Error, "a built-in context field is used without being declared";
    IMPLICIT_ID = "implicit-id", Error, "a node leaves its `id` to its key";
    IMPLICIT_TRANSFORM = "implicit-transform", Error, "a prompt node leaves its transform out";
    UNTYPED_ERROR_PORT = "untyped-error-port", Error, "an error port has no type";
}
