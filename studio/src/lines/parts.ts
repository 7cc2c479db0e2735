// Parts of a flow in its lines: which part is at an offset, and where a part is.
import type { Part, Range } from "../api/contract";

export type Line = "flow" | "exec" | "system";

export interface Stretch {
  from: number;
  to: number;
}

export function stretches(ranges: readonly Range[]): Stretch[] {
  return ranges.map(({ offset, end_offset }) => ({ from: offset, to: end_offset }));
}

/** The smallest part around an offset. */
export function partAt(parts: readonly Part[], line: Line, offset: number): Part | null {
  let best: Part | null = null;
  let least = Infinity;
  for (const part of parts) {
    for (const range of part[line]) {
      const size = range.end_offset - range.offset;
      if (range.offset <= offset && offset <= range.end_offset && size < least) [best, least] = [part, size];
    }
  }
  return best;
}
