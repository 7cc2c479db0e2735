// Undo and redo over whole texts, so that every view shares one line of changes.
//
// Invariant: undoing restores the earlier text byte for byte, whichever view made the change.

export interface Entry {
  text: string;
  /** What was done, for the tooltip of undo. */
  label: string;
  /** When it was done, in milliseconds. */
  at: number;
  /** Whether it was typed: typing in one go is one entry. */
  typed: boolean;
}

export interface History {
  past: Entry[];
  present: Entry;
  future: Entry[];
}

const LONGEST = 200;
const ONE_GO_MS = 900;

export function begin(text: string): History {
  return { past: [], present: { text, label: "Opened", at: 0, typed: false }, future: [] };
}

export function record(history: History, entry: Entry): History {
  const { past, present } = history;
  if (entry.text === present.text) return history;
  if (entry.typed && present.typed && entry.at - present.at < ONE_GO_MS && past.length > 0) {
    return { past, present: entry, future: [] };
  }
  return { past: [...past, present].slice(-LONGEST), present: entry, future: [] };
}

export function undo(history: History): History {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  // An entry that is gone back to takes no more typing: what follows is a change of its own.
  return {
    past: history.past.slice(0, -1),
    present: { ...before, typed: false },
    future: [history.present, ...history.future],
  };
}

export function redo(history: History): History {
  const [next, ...future] = history.future;
  if (next === undefined) return history;
  return { past: [...history.past, history.present], present: { ...next, typed: false }, future };
}
