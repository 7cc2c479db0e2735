// When each step of a run worked, as parts of the run's own time.
//
// Invariant: a step whose result was reused from another run took no time in this one, and is given none.
import type { NodeRun, RunView } from "../api/contract";

/** Where a step's bar begins and how long it is, in percent. */
export interface Span {
  left: number;
  width: number;
}

const NARROWEST = 0.5;

export function isReused(node: Pick<NodeRun, "reused">): boolean {
  return node.reused;
}

/** The longest time that the steps of the run itself reach to, in milliseconds. */
export function timeOf(view: Pick<RunView, "duration_ms" | "nodes">): number {
  const own = view.nodes.filter((node) => !isReused(node) && node.started_ms !== null);
  return Math.max(view.duration_ms, ...own.map((node) => Math.max(0, node.started_ms ?? 0) + node.duration_ms), 1);
}

/** The bar of a step, or nothing for one that did not work in this run. */
export function spanOf(node: NodeRun, total: number): Span | null {
  if (node.started_ms === null || isReused(node)) return null;
  const left = Math.min((100 * Math.max(0, node.started_ms)) / total, 100 - NARROWEST);
  const width = Math.min(Math.max(NARROWEST, (100 * node.duration_ms) / total), 100 - left);
  return { left, width };
}
