// Going from node to node by arrow keys.
import type { Point } from "../api/contract";

export type Arrow = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

export interface Placed extends Point {
  id: string;
}

const WAY: Record<Arrow, Point> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

export function isArrow(key: string): key is Arrow {
  return key in WAY;
}

/** The node nearest to a place. */
export function nearest(nodes: readonly Placed[], to: Point): string | null {
  let best: string | null = null;
  let least = Infinity;
  for (const node of nodes) {
    const distance = Math.hypot(node.x - to.x, node.y - to.y);
    if (distance < least) [best, least] = [node.id, distance];
  }
  return best;
}

/** Puts the focus on a node that is drawn in a frame. */
export function focusNode(frame: ParentNode | null, id: string): HTMLElement | null {
  const element = frame?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(id)}"]`) ?? null;
  element?.focus({ preventScroll: true });
  return element;
}

/** The nearest node in a direction; what lies aside counts double. Nothing when there is none. */
export function neighbour(nodes: readonly Placed[], from: string, arrow: Arrow): string | null {
  const start = nodes.find((node) => node.id === from);
  if (start === undefined) return nodes[0]?.id ?? null;
  const way = WAY[arrow];
  let best: string | null = null;
  let least = Infinity;
  for (const node of nodes) {
    const ahead = (node.x - start.x) * way.x + (node.y - start.y) * way.y;
    const aside = Math.abs((node.x - start.x) * way.y) + Math.abs((node.y - start.y) * way.x);
    if (node.id === from || ahead <= 0) continue;
    const distance = ahead + 2 * aside;
    if (distance < least) [best, least] = [node.id, distance];
  }
  return best;
}
