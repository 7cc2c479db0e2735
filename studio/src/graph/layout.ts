// Where nodes go when the file does not say: in columns by their longest way from the request, ordered so that
// edges cross little.
//
// Invariants: the same graph gives the same places; no two nodes overlap; edges lead to the right, or down where the
// screen is slim.
import type { Graph, GraphNode, Point } from "../api/contract";
import { NODE_WIDTH, nodeHeight } from "./geometry";

const COLUMN_GAP = 110;
const ROW_GAP = 28;
const SWEEPS = 6;
const LEAST_ROWS = 8;
/** From top to bottom: nodes beside each other, and the gaps between them. */
const ABREAST = 2;
const BESIDE_GAP = 36;
const BELOW_GAP = 56;

export type Direction = "right" | "down";

export function arrange(graph: Pick<Graph, "nodes" | "edges">, direction: Direction = "right"): Map<string, Point> {
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const links = graph.edges
    .map((edge) => ({ from: edge.from.node, to: edge.to.node }))
    .filter(({ from, to }) => from !== to && nodes.has(from) && nodes.has(to));
  const columns = orderColumns(columnsOf(graph.nodes, links), links);
  if (direction === "down") return placeDown(columns.flatMap((column) => pieces(column, ABREAST)), nodes);
  // A column that is much taller than the rest is set as several, so that the whole fits a screen.
  const most = Math.max(LEAST_ROWS, Math.ceil(Math.sqrt(1.5 * graph.nodes.length)));
  return place(columns.flatMap((column) => pieces(column, most)), nodes);
}

interface Link {
  from: string;
  to: string;
}

/** Each node is one column right of the last of its feeders; a cycle is cut where the walk meets it. */
function columnsOf(nodes: readonly GraphNode[], links: readonly Link[]): string[][] {
  const feeders = new Map<string, string[]>();
  for (const { from, to } of links) feeders.set(to, [...(feeders.get(to) ?? []), from]);
  const depth = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const known = depth.get(id);
    if (known !== undefined) return known;
    if (open.has(id)) return 0;
    open.add(id);
    let deepest = id === "_input" ? 0 : 1;
    for (const feeder of feeders.get(id) ?? []) deepest = Math.max(deepest, visit(feeder) + 1);
    open.delete(id);
    depth.set(id, deepest);
    return deepest;
  };
  for (const node of nodes) visit(node.id);
  // The response is last, however short the way to it.
  const last = Math.max(0, ...nodes.filter((node) => node.id !== "_output").map((node) => depth.get(node.id) ?? 0));
  if (depth.has("_output")) depth.set("_output", last + 1);
  const columns: string[][] = [];
  for (const node of nodes) {
    const column = depth.get(node.id) ?? 0;
    (columns[column] ??= []).push(node.id);
  }
  return columns.filter((column) => column.length > 0);
}

/** Sorts each column by the middle of its neighbours, to and fro. */
function orderColumns(columns: string[][], links: readonly Link[]): string[][] {
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of links) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  const rank = new Map<string, number>();
  const number = (column: readonly string[]) => {
    column.forEach((id, index) => rank.set(id, (index + 0.5) / column.length));
  };
  columns.forEach(number);
  const middle = (id: string): number => {
    const around = neighbours.get(id) ?? [];
    if (around.length === 0) return rank.get(id) ?? 0;
    return around.reduce((sum, other) => sum + (rank.get(other) ?? 0), 0) / around.length;
  };
  const result = columns.map((column) => [...column]);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const order = sweep % 2 === 0 ? result : [...result].reverse();
    for (const column of order) {
      const key = new Map(column.map((id) => [id, middle(id)]));
      column.sort((left, right) => (key.get(left) ?? 0) - (key.get(right) ?? 0));
      number(column);
    }
  }
  return result;
}

function pieces(column: readonly string[], most: number): string[][] {
  const count = Math.ceil(column.length / most);
  const size = Math.ceil(column.length / count);
  return Array.from({ length: count }, (_, index) => column.slice(index * size, (index + 1) * size));
}

function place(columns: readonly string[][], nodes: ReadonlyMap<string, GraphNode>): Map<string, Point> {
  const height = (id: string): number => {
    const node = nodes.get(id);
    return node === undefined ? 0 : nodeHeight(node);
  };
  const total = (column: readonly string[]) =>
    column.reduce((sum, id) => sum + height(id), 0) + ROW_GAP * (column.length - 1);
  const tallest = Math.max(0, ...columns.map(total));
  const places = new Map<string, Point>();
  columns.forEach((column, index) => {
    let y = (tallest - total(column)) / 2;
    for (const id of column) {
      places.set(id, { x: index * (NODE_WIDTH + COLUMN_GAP), y: Math.round(y) });
      y += height(id) + ROW_GAP;
    }
  });
  return places;
}

function placeDown(rows: readonly string[][], nodes: ReadonlyMap<string, GraphNode>): Map<string, Point> {
  const places = new Map<string, Point>();
  let y = 0;
  for (const row of rows) {
    const present = row.flatMap((id) => nodes.get(id) ?? []);
    const width = present.length * (NODE_WIDTH + BESIDE_GAP) - BESIDE_GAP;
    present.forEach((node, index) => places.set(node.id, { x: index * (NODE_WIDTH + BESIDE_GAP) - width / 2, y }));
    y += Math.max(0, ...present.map(nodeHeight)) + BELOW_GAP;
  }
  return places;
}
