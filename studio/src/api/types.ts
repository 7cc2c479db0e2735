// The server's contract: what goes over the wire, word for word.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A stretch of a text: offsets in UTF-16 code units, lines and columns from 1. */
export interface Range {
  offset: number;
  end_offset: number;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
}

/** Where something came from in the flow's file. */
export interface Place {
  line: number;
  column: number;
}

export type PortType = "string" | "number" | "boolean" | "object" | "array" | "document" | "table" | "embedding";
export type Cast = "none" | "text" | "single_row";
export type Sensitivity = "public" | "private" | "restricted";

export interface Session {
  version: string;
  tenant: string | null;
  read_only: boolean;
  keys: boolean;
  chat: { model: string | null; forms: string[] };
  projects: { id: string; tenant: string; repo: string; policy: string }[];
  types: { types: PortType[]; connections: { from: PortType; to: PortType; cast: Cast }[] };
  limits: { text_bytes: number; body_bytes: number };
  gateway: boolean;
}

export interface FlowFile {
  path: string;
  project: string;
  name: string | null;
  description: string | null;
  bytes: number;
  hash: string;
  errors: number;
  warnings: number;
  served: string | null;
}

export interface FileText {
  path: string;
  text: string;
  hash: string;
}

export interface Written {
  path: string;
  hash: string;
  served: string | null;
}

export type Severity = "error" | "warning" | "note";

export interface TextEdit extends Range {
  replacement: string;
}

export interface Finding extends Range {
  code: string;
  severity: Severity;
  message: string;
  label: string | null;
  help: string | null;
  pointer: string | null;
  node: string | null;
  labels: (Range & { message: string })[];
  fix: { title: string; edits: TextEdit[] } | null;
}

export interface Port {
  name: string;
  type: PortType | null;
  optional: boolean;
  description: string | null;
  sensitivity: Sensitivity | null;
  accepts: Sensitivity | null;
  schema: Json;
  connected: boolean;
  range: Range | null;
}

export type NodeKind = "input" | "output" | "prompt" | "code" | "op" | "other";

export interface GraphNode {
  id: string;
  kind: NodeKind;
  op: string | null;
  title: string;
  subtitle: string;
  inputs: Port[];
  outputs: Port[];
  error: Port | null;
  position: Point | null;
  layout: Point;
  range: Range | null;
  state: "request" | "session" | null;
  effects: boolean;
  tool_only: boolean;
  model: string | null;
  errors: number;
  warnings: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface EdgeEnd {
  node: string;
  port: string | null;
}

export interface GraphEdge {
  id: string;
  kind: "data" | "tool" | "each";
  index: number | null;
  from: EdgeEnd;
  to: EdgeEnd;
  written: { from: string; to: string } | null;
  condition: string | null;
  transform: string | null;
  error: boolean;
  cast: Cast;
  broken: string | null;
  range: Range | null;
  errors: number;
  warnings: number;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  width: number;
  height: number;
}

export interface RequestField {
  name: string;
  required: boolean;
  type: PortType | null;
  schema: Json;
  description: string | null;
  sensitivity: Sensitivity | null;
}

export interface Analysis {
  text_hash: string;
  hash: string | null;
  summary: { errors: number; warnings: number; notes: number };
  diagnostics: Finding[];
  flow: { name: string | null; description: string | null; tags: string[]; version: string | null } | null;
  graph: Graph | null;
  request: RequestField[];
}

export interface Target {
  to: string;
  allowed: boolean;
  cast: Cast;
  reason: string | null;
}

export type Direction = "input" | "output" | "error";

export type Command =
  | { op: "add_node"; id: string; node: Json; after?: string }
  | { op: "remove_node"; id: string }
  | { op: "rename_node"; from: string; to: string }
  | { op: "connect"; from: string; to: string; condition?: string; transform?: string }
  | { op: "disconnect"; from: string; to: string }
  | { op: "set"; path: string; value: Json }
  | { op: "unset"; path: string }
  | { op: "add_port"; node: string; direction: Direction; port: Json }
  | { op: "remove_port"; node: string; direction: Direction; name: string }
  | { op: "add_error_handling"; node: string }
  | { op: "add_caching"; node: string; ttl_seconds?: number }
  | { op: "set_position"; node: string; x: number; y: number };

export interface Change {
  kind: "added" | "removed" | "changed" | "renamed";
  part: string;
  path: string;
  before: Json;
  after: Json;
}

export interface Diff {
  same: boolean;
  changes: Change[];
  layout: Change[];
  comments: { added: string[]; removed: string[] };
}

export interface TextChange {
  offset: number;
  end_offset: number;
  insert: string;
}

export interface Edited {
  commands: Command[];
  text: string;
  hash: string | null;
  diff: Diff;
  shown: string[];
  changes: TextChange[];
  analysis: Analysis;
}

export interface Proposed extends Edited {
  by: "grammar" | "model";
}

export interface CompletionItem {
  label: string;
  insert: string;
  detail: string;
  kind: "field" | "value" | "operation" | "port" | "variable";
  offset: number;
  end_offset: number;
}

export interface PaletteItem {
  id: string;
  group: "model" | "code" | "http" | "transform" | "features" | "io" | "human" | "tools";
  title: string;
  summary: string;
  op: string | null;
  effects: boolean;
  arguments: Json;
  id_hint: string;
  node: Json;
}

export interface Part {
  id: string;
  kind: "flow" | "node" | "edge" | "policy" | "deployment" | "integration" | "entity" | "other";
  title: string;
  flow: Range[];
  exec: Range[];
  system: Range[];
}

export interface Lines {
  flow: { text: string };
  exec: { text: string };
  system: { text: string };
  bundle: { text: string };
  manifest: { text: string };
  parts: Part[];
  facts: {
    tenant: string;
    repo: string;
    policy: string;
    fingerprints: { exec: string; system: string; bundle: string };
    effects: { kind: "network" | "secret" | "tool" | "state" | "other"; what: string; nodes: string[] }[];
    contracts: { node: string; kind: string; summary: string; contract: Json }[];
  };
}
