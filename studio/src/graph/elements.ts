// The graph as the canvas draws it. What did not change keeps its identity, so that it is not drawn again.
import type { Edge, Node } from "@xyflow/react";
import type { EdgeRun, Graph, GraphEdge, GraphNode, NodeRun, Point } from "../api/contract";
import { NODE_WIDTH, nodeHeight, toCanvas } from "./geometry";
import { arrange, type Direction } from "./layout";
import { handleId, spoken } from "./names";

export interface NodeData extends Record<string, unknown> {
  node: GraphNode;
  run: NodeRun | null;
  editable: boolean;
}

export interface EdgeData extends Record<string, unknown> {
  edge: GraphEdge;
  direction: Direction;
}

export type CanvasNode = Node<NodeData, "flow">;
export type CanvasEdge = Edge<EdgeData>;

const END_GAP = 70;

/** What a run did, by node and by edge. */
export interface RunOverlay {
  nodes: ReadonlyMap<string, NodeRun>;
  edges: ReadonlyMap<string, EdgeRun["state"]>;
}

/** Where every node is drawn. Places in the file are those of a flow that goes from left to right. */
export function placesOf(graph: Graph, direction: Direction = "right"): Map<string, Point> {
  if (direction === "down") return arrange(graph, direction);
  const written = graph.nodes.some((node) => node.position !== null);
  if (!written) return arrange(graph);
  const places = new Map(graph.nodes.map((node) => [node.id, toCanvas(node.layout)]));
  placeEnds(graph, places);
  return places;
}

/** The request and the response have no place in the file: they are left and right of everything else. */
function placeEnds(graph: Graph, places: Map<string, Point>): void {
  const inner = graph.nodes.filter((node) => node.kind !== "input" && node.kind !== "output");
  if (inner.length === 0) return;
  const columns = inner.map((node) => places.get(node.id)?.x ?? 0);
  for (const node of graph.nodes) {
    if (node.kind !== "input" && node.kind !== "output") continue;
    const isInput = node.kind === "input";
    const neighbours = graph.edges
      .filter((edge) => (isInput ? edge.from.node : edge.to.node) === node.id)
      .map((edge) => (isInput ? edge.to.node : edge.from.node));
    const beside = inner.filter((each) => neighbours.includes(each.id));
    const middles = (beside.length > 0 ? beside : inner).map((each) => (places.get(each.id)?.y ?? 0) + nodeHeight(each) / 2);
    const y = middles.reduce((sum, each) => sum + each, 0) / middles.length - nodeHeight(node) / 2;
    const x = isInput ? Math.min(...columns) - NODE_WIDTH - END_GAP : Math.max(...columns) + NODE_WIDTH + END_GAP;
    places.set(node.id, { x, y: Math.round(y) });
  }
}

export function nodesOf(
  graph: Graph,
  overlay: RunOverlay | null,
  editable: boolean,
  direction: Direction,
  before: readonly CanvasNode[],
): CanvasNode[] {
  const places = placesOf(graph, direction);
  const known = new Map(before.map((node) => [node.id, node]));
  return graph.nodes.map((node) => {
    const position = places.get(node.id) ?? { x: 0, y: 0 };
    const run = overlay?.nodes.get(node.id) ?? null;
    const old = known.get(node.id);
    const isEnd = node.kind === "input" || node.kind === "output";
    const data = old !== undefined && same(old.data, node, run, editable) ? old.data : { node, run, editable };
    if (old?.data === data && old.dragging === true) return old;
    if (old?.data === data && old.position.x === position.x && old.position.y === position.y) return old;
    return {
      ...(old ?? {}),
      id: node.id,
      type: "flow",
      position,
      data,
      width: NODE_WIDTH,
      height: nodeHeight(node),
      draggable: editable && !isEnd && direction === "right",
      deletable: editable && !isEnd,
      connectable: editable,
      ariaLabel: spoken(node),
    };
  });
}

function same(data: NodeData, node: GraphNode, run: NodeRun | null, editable: boolean): boolean {
  return data.run === run && data.editable === editable && JSON.stringify(data.node) === JSON.stringify(node);
}

export function edgesOf(
  graph: Graph,
  overlay: RunOverlay | null,
  direction: Direction,
  before: readonly CanvasEdge[],
): CanvasEdge[] {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const known = new Map(before.map((edge) => [edge.id, edge]));
  return graph.edges.flatMap((edge) => {
    const sourceHandle = outHandle(nodes.get(edge.from.node), edge);
    const targetHandle = inHandle(nodes.get(edge.to.node), edge);
    if (sourceHandle === null || targetHandle === null) return [];
    const state = overlay?.edges.get(runKey(edge)) ?? null;
    const className = classOf(edge, state);
    const old = known.get(edge.id);
    const isKnown = old?.className === className && old.data?.direction === direction;
    if (isKnown && JSON.stringify(old.data?.edge) === JSON.stringify(edge)) return [old];
    return [
      {
        id: edge.id,
        source: edge.from.node,
        target: edge.to.node,
        sourceHandle,
        targetHandle,
        className,
        data: { edge, direction },
        type: "flow",
        deletable: edge.written !== null,
        selected: old?.selected ?? false,
        ariaLabel: `from ${edge.from.node} to ${edge.to.node}`,
      },
    ];
  });
}

/** The key by which a run names an edge. */
export function runKey(edge: Pick<GraphEdge, "from" | "to">): string {
  return `${edge.from.node}.${edge.from.port ?? ""}>${edge.to.node}.${edge.to.port ?? ""}`;
}

function classOf(edge: GraphEdge, state: EdgeRun["state"] | null): string {
  const words = [`edge-${edge.kind}`];
  if (edge.error) words.push("edge-failure");
  if (edge.condition !== null) words.push("edge-conditional");
  if (edge.errors > 0 || edge.broken !== null) words.push("edge-broken");
  if (state !== null) words.push(`edge-${state.replace("_", "-")}`);
  return words.join(" ");
}

function outHandle(node: GraphNode | undefined, edge: GraphEdge): string | null {
  if (node === undefined) return null;
  if (edge.kind !== "data") return handleId("out", "");
  const port = edge.from.port ?? "";
  const found = [...node.outputs, ...(node.error === null ? [] : [node.error])].some((each) => each.name === port);
  return found ? handleId("out", port) : null;
}

function inHandle(node: GraphNode | undefined, edge: GraphEdge): string | null {
  if (node === undefined) return null;
  if (edge.kind !== "data") return handleId("in", "");
  const port = edge.to.port ?? "";
  if (node.inputs.some((each) => each.name === port)) return handleId("in", port);
  return null;
}
