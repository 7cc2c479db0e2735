// Keys that work everywhere, and the list of all keys for the help sheet.
import { useEffect } from "react";

export interface Shortcut {
  keys: string;
  does: string;
}

export const SHORTCUTS: readonly { title: string; keys: readonly Shortcut[] }[] = [
  {
    title: "Everywhere",
    keys: [
      { keys: "?", does: "this help" },
      { keys: "g h", does: "all flows" },
      { keys: "g f", does: "the flow" },
      { keys: "g r", does: "runs" },
      { keys: "g l", does: "lines" },
      { keys: "g g", does: "gateway" },
      { keys: "Ctrl Enter", does: "run the flow" },
      { keys: "Ctrl Z", does: "undo, in every view" },
      { keys: "Ctrl Shift Z", does: "redo" },
      { keys: "Ctrl S", does: "save at once" },
      { keys: "Alt 1", does: "go to the graph" },
      { keys: "Alt 2", does: "go to the text" },
      { keys: "Alt 3", does: "go to the chat" },
      { keys: "Alt 4", does: "go to the problems" },
    ],
  },
  {
    title: "Graph",
    keys: [
      { keys: "Arrows", does: "go from node to node" },
      { keys: "Shift Arrows", does: "move the node" },
      { keys: "A", does: "add a node" },
      { keys: "C", does: "connect the node" },
      { keys: "F2", does: "rename the node" },
      { keys: "Enter", does: "show its lines" },
      { keys: "Delete", does: "delete what is selected" },
      { keys: "Escape", does: "select nothing" },
    ],
  },
  {
    title: "Text",
    keys: [
      { keys: "Ctrl Space", does: "complete" },
      { keys: "F12", does: "go to the definition" },
      { keys: "F8", does: "next problem" },
      { keys: "Ctrl F", does: "search" },
      { keys: "Tab", does: "leave the text, or indent once you edit" },
      { keys: "Ctrl ]", does: "indent" },
      { keys: "Escape Tab", does: "leave the text while editing" },
    ],
  },
];

/** Whether a key belongs to a field and not to the page. */
function isTyped(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** The name of what was pressed: `mod+z`, `alt+1`, `?`. */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const parts: string[] = [];
  if (event.ctrlKey || event.metaKey) parts.push("mod");
  if (event.altKey) parts.push("alt");
  if (event.shiftKey && parts.length > 0) parts.push("shift");
  parts.push(event.key.toLowerCase());
  return parts.join("+");
}

const SEQUENCE_MS = 1200;

/** Listens on the window. Plain keys are left to fields; `g x` is one key after another. */
export function useShortcuts(actions: Record<string, () => void>): void {
  useEffect(() => {
    let started = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
      const name = nameOf(event);
      const isPlain = !name.includes("+");
      if (isPlain && isTyped(event)) return;
      const inSequence = isPlain && Date.now() - started < SEQUENCE_MS;
      const action = actions[inSequence ? `g ${name}` : name];
      started = isPlain && name === "g" && !inSequence ? Date.now() : 0;
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [actions]);
}
