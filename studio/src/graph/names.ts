// Names of nodes, ports and handles.
import type { EdgeEnd, GraphNode } from "../api/contract";

const NODE_ID = /^[a-z][a-z0-9_]*$/;

/** What is said of the request and the response, which are no nodes of the file and have no place in it. */
export const END_PLACE = "Its place is not kept in the file: it is drawn beside everything else.";

/** The end of an edge as commands write it. */
export function endText(end: EdgeEnd): string {
  return end.port === null || end.port === "" ? end.node : `${end.node}.${end.port}`;
}

export type Side = "in" | "out";

export function handleId(side: Side, port: string): string {
  return `${side}:${port}`;
}

export function portOf(handle: string | null | undefined): string | null {
  return handle === null || handle === undefined ? null : handle.slice(handle.indexOf(":") + 1);
}

/** A free id made from a base: `http_get`, then `http_get_2`, … */
export function freeId(base: string, taken: ReadonlySet<string>): string {
  if (!taken.has(base)) return base;
  for (let number = 2; ; number += 1) {
    const id = `${base}_${number}`;
    if (!taken.has(id)) return id;
  }
}

/** Why a text cannot be the id of a node, or nothing when it can. */
export function idFault(id: string, taken: ReadonlySet<string>): string | null {
  if (!NODE_ID.test(id)) return "An id begins with a small letter and has small letters, digits and _ only.";
  return taken.has(id) ? `There is a node ${id} already.` : null;
}

/** What a screen reader says of a node. */
export function spoken(node: GraphNode): string {
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
  const parts = [node.id, node.subtitle, count(node.inputs.length, "input"), count(node.outputs.length, "output")];
  if (node.errors > 0) parts.push(count(node.errors, "error"));
  if (node.warnings > 0) parts.push(count(node.warnings, "warning"));
  return parts.filter((part) => part !== "").join(", ");
}
