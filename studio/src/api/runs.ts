// The contract of runs: what a run was asked, what its nodes did, what its models were asked.
import type { Json, Place, Sensitivity } from "./types";

export type RunStatus = "queued" | "running" | "interrupted" | "quarantined" | "waiting" | "ok" | "error" | "cancelled";
export type NodeStatus = "waiting" | "running" | "ok" | "error" | "skipped" | "cancelled" | "asks";

export interface RunRow {
  run_id: string;
  flow: string;
  status: RunStatus;
  started_at: string;
  ended_at: string | null;
  steps: number;
  replay_of: string | null;
}

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
}

export interface NodeError {
  reason: string;
  code?: string;
  kind: string;
  node: string;
  attempt: number;
  retryable: boolean;
  details?: Json;
  line?: number;
  column?: number;
}

export interface RunError {
  message: string;
  kind: string;
  node: string | null;
  line?: number;
  column?: number;
}

/** A question to a person, with the values that it is about. A decision names its digest. */
export interface Question {
  /** The address that a decision is sent to: a node, a tool's call or an item of a list. */
  node: string;
  question: string | null;
  values: Json;
  digest: string;
}

export interface NodeRun {
  id: string;
  type: string;
  status: NodeStatus;
  attempts: number;
  duration_ms: number;
  started_ms: number | null;
  reason: string | null;
  error: NodeError | null;
  model: string | null;
  usage: Usage | null;
  cost_micros: number | null;
  calls: number;
  cached: boolean;
  /** Whether the result is another run's, which this one replays. Servers before this field have none. */
  reused?: boolean;
  degraded: boolean;
  dropped_outputs: string[];
  flagged: string[];
  logs: string[];
  inputs: Json;
  outputs: Json;
  truncated: boolean;
  prompts: number;
  /** What the node asks people. Servers before this field have none. */
  asks?: Question[];
  origin: Place | null;
  places: Record<string, Place>;
}

export interface EdgeRun {
  from: string;
  to: string;
  from_port: string | null;
  to_port: string | null;
  origin: Place | null;
  state: "carried" | "not_taken" | "none";
  value?: Json;
  reason?: string;
}

export interface RunView {
  run_id: string;
  flow: string;
  status: RunStatus;
  started_at: string;
  ended_at: string | null;
  duration_ms: number;
  replay_of: string | null;
  request: Json;
  output: Json;
  error: RunError | null;
  usage: Usage & { cost_micros?: number };
  source: { file: string; path: string | null; changed: boolean | null; text: string | null };
  nodes: NodeRun[];
  edges: EdgeRun[];
  decisions: { node: string; approved: boolean; comment: string | null; decided_at: string; decided_by?: string | null }[];
}

export type Provenance = "system" | "developer" | "user" | "tool" | "retrieval" | "memory";

export interface Block {
  index: number;
  name: string | null;
  role: "system" | "user" | "assistant" | "tool";
  type: "text" | "tool_schema" | "tool_result" | "structured_output" | "image";
  provenance: Provenance;
  sensitivity: Sensitivity;
  tokens: number | null;
  content: string;
  truncated: boolean;
  withheld: boolean;
  cache: "read" | "written" | "none";
  stable: boolean;
  origin: Place | null;
}

export interface Turn {
  number: number;
  text: string | null;
  tool_calls: { name: string; arguments: string }[];
  tool_results: { name: string; text: string; is_error: boolean }[];
  usage: Usage | null;
  stop: string | null;
}

/** One prompt that was put to a model, or refused. */
export interface Question {
  path: string;
  provider: string;
  model: string;
  tokens: number | null;
  budget: number | null;
  verdict: {
    approved: boolean;
    stage: "governance" | "plugin" | "compiled" | "gate" | null;
    violations: { policy: string | null; text: string; denies: boolean }[];
  };
  transformations: { plugin: string; what: string; detail: string | null }[];
  cuts: { section: string; reason: string; tokens: number }[];
  gate: { block: number; label: string; rule: string; action: "redact" | "refuse" | "route" }[];
  blocks: Block[];
  turns: Turn[];
}

export interface NodeRunWhole extends NodeRun {
  questions: Question[];
}

export interface Difference {
  path: string;
  before?: Json;
  after?: Json;
}

export interface RunSide {
  run_id: string;
  flow: string;
  status: RunStatus;
  started_at: string;
  duration_ms: number;
  usage: Usage & { cost_micros?: number };
}

export interface NodeSide {
  status: NodeStatus;
  duration_ms: number;
  attempts: number;
  model: string | null;
  usage: Usage | null;
  cost_micros: number | null;
  error: NodeError | null;
}

export interface Comparison {
  a: RunSide;
  b: RunSide;
  same_document: boolean;
  request: Difference[];
  output: Difference[];
  nodes: {
    id: string;
    a: NodeSide | null;
    b: NodeSide | null;
    inputs: Difference[];
    outputs: Difference[];
    same: boolean;
    origin: Place | null;
  }[];
}
