// Changes of a text: applying them, and finding the smallest one between two texts.
import type { TextChange, TextEdit } from "../api/contract";

/** Applies changes that are all meant for the text as it is. */
export function applyChanges(text: string, changes: readonly TextChange[]): string {
  const ordered = [...changes].sort((left, right) => right.offset - left.offset);
  let result = text;
  for (const { offset, end_offset, insert } of ordered) {
    result = result.slice(0, offset) + insert + result.slice(end_offset);
  }
  return result;
}

export function fromEdits(edits: readonly TextEdit[]): TextChange[] {
  return edits.map(({ offset, end_offset, replacement }) => ({ offset, end_offset, insert: replacement }));
}

/** The one stretch in which two texts differ, or nothing when they are the same. */
export function difference(before: string, after: string): TextChange | null {
  if (before === after) return null;
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { offset: start, end_offset: before.length - end, insert: after.slice(start, after.length - end) };
}

/** The offset of a line and column (from 1, columns in characters), or the nearest there is. */
export function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let passed = 1; passed < line; passed += 1) {
    const next = text.indexOf("\n", start);
    if (next < 0) break;
    start = next + 1;
  }
  const end = text.indexOf("\n", start);
  const letters = Array.from(text.slice(start, end < 0 ? undefined : end));
  return start + letters.slice(0, Math.max(0, column - 1)).join("").length;
}
