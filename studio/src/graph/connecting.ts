// The edge that is being drawn: where it may go, by the checker's word, and why not elsewhere.
import { createContext, use } from "react";
import type { Cast, PortType, Session, Target } from "../api/contract";
import { Store, useStore } from "../document/store";

export interface Connecting {
  /** The end it begins at, or nothing when no edge is being drawn. */
  from: string | null;
  fromType: PortType | null;
  targets: ReadonlyMap<string, Target>;
}

export const IDLE: Connecting = { from: null, fromType: null, targets: new Map() };

export function newConnecting(): Store<Connecting> {
  return new Store<Connecting>(IDLE);
}

export const ConnectingContext = createContext<Store<Connecting>>(newConnecting());

export type Fit = "idle" | "allowed" | "refused" | "unknown";

/** Whether the edge that is being drawn may end here. */
export function useFit(end: string): Fit {
  const store = use(ConnectingContext);
  return useStore(store, (state) => {
    if (state.from === null) return "idle";
    const target = state.targets.get(end);
    if (target === undefined) return state.targets.size === 0 ? "unknown" : "refused";
    return target.allowed ? "allowed" : "refused";
  });
}

/** The reason by types alone, until the checker has answered. */
export function typeRefusal(
  session: Pick<Session, "types">,
  from: PortType | null,
  to: PortType | null,
): { reason: string } | { cast: Cast } {
  if (from === null || to === null) return { cast: "none" };
  const pair = session.types.connections.find((each) => each.from === from && each.to === to);
  return pair === undefined ? { reason: `${from} does not go into ${to}` } : { cast: pair.cast };
}

/** What is said about a connection that is allowed but changes the value. */
export function castText(cast: Cast): string | null {
  switch (cast) {
    case "none":
      return null;
    case "text":
      return "the value becomes text";
    case "single_row":
      return "the table must have one row";
  }
}
