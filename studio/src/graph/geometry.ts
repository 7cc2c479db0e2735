// Sizes of nodes and the way between the file's coordinates and the canvas.
//
// The specification's examples set nodes 200 apart, which is less than a readable node is wide. The canvas is
// therefore drawn larger than the file's coordinates, by the same factor everywhere.
import type { GraphNode, Point } from "../api/contract";

export const NODE_WIDTH = 196;
const HEADER = 46;
const ROW = 20;
const FOOT = 8;
const SCALE: Point = { x: 1.25, y: 1.15 };

export function toCanvas(point: Point): Point {
  return { x: point.x * SCALE.x, y: point.y * SCALE.y };
}

/** The file keeps whole numbers. */
export function toFile(point: Point): Point {
  return { x: Math.round(point.x / SCALE.x), y: Math.round(point.y / SCALE.y) };
}

export function nodeHeight(node: Pick<GraphNode, "inputs" | "outputs" | "error">): number {
  const right = node.outputs.length + (node.error === null ? 0 : 1);
  return HEADER + Math.max(node.inputs.length, right) * ROW + FOOT;
}
