// A value that views look at. Views are notified when it changes and read the part they need.
import { useSyncExternalStore } from "react";

export class Store<S extends object> {
  private readonly watchers = new Set<() => void>();
  private current: S;

  constructor(initial: S) {
    this.current = initial;
  }

  get state(): S {
    return this.current;
  }

  update(part: Partial<S>): void {
    this.current = { ...this.current, ...part };
    for (const watcher of this.watchers) watcher();
  }

  readonly subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };
}

/** A part of a store's value. The selector must give the same object while nothing changed. */
export function useStore<S extends object, T>(store: Store<S>, select: (state: S) => T): T {
  return useSyncExternalStore(store.subscribe, () => select(store.state));
}
