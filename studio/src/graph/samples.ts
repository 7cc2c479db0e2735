// Small graphs for the tests of this folder.
import type { Graph, GraphEdge, GraphNode, Port } from "../api/contract";

export function port(name: string): Port {
  const rest = { optional: false, description: null, sensitivity: null, accepts: null, schema: null };
  return { name, type: "string", connected: false, range: null, ...rest };
}

export function node(id: string, inputs: string[] = ["a"], outputs: string[] = ["b"]): GraphNode {
  return {
    id,
    kind: id === "_input" ? "input" : id === "_output" ? "output" : "op",
    op: null,
    title: id,
    subtitle: "",
    inputs: inputs.map(port),
    outputs: outputs.map(port),
    error: null,
    position: null,
    layout: { x: 0, y: 0 },
    range: null,
    state: null,
    effects: false,
    tool_only: false,
    model: null,
    errors: 0,
    warnings: 0,
  };
}

export function edge(from: string, to: string): GraphEdge {
  return {
    id: `${from}>${to}`,
    kind: "data",
    index: 0,
    from: { node: from, port: "b" },
    to: { node: to, port: "a" },
    written: { from: `${from}.b`, to: `${to}.a` },
    condition: null,
    transform: null,
    error: false,
    cast: "none",
    broken: null,
    range: null,
    errors: 0,
    warnings: 0,
  };
}

export function graph(nodes: GraphNode[], edges: GraphEdge[]): Graph {
  return { nodes, edges, width: 0, height: 0 };
}
