// Two texts compared line by line, as hunks with a little of what is around.

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
  /** The number of the line in its text: the later one, for lines in both. */
  line: number;
}

export interface Hunk {
  lines: DiffLine[];
}

const AROUND = 2;
/** Beyond this many cells the middle is shown as replaced whole. */
const LARGEST_TABLE = 4_000_000;

export function hunks(before: string, after: string): Hunk[] {
  const lines = lineDiff(before.split("\n"), after.split("\n"));
  const result: Hunk[] = [];
  let last = -Infinity;
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    const start = Math.max(index - AROUND, last);
    const end = Math.min(index + AROUND + 1, lines.length);
    const current = result.at(-1);
    if (current !== undefined && start <= last) current.lines.push(...lines.slice(last, end));
    else result.push({ lines: lines.slice(Math.max(0, start), end) });
    last = end;
  });
  return result;
}

export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const room = Math.min(before.length, after.length) - start;
  while (end < room && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const same = (from: number, to: number): DiffLine[] =>
    after.slice(from, to).map((text, index) => ({ kind: "same", text, line: from + index + 1 }));
  return [
    ...same(0, start),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end), start),
    ...same(after.length - end, after.length),
  ];
}

function middle(before: readonly string[], after: readonly string[], offset: number): DiffLine[] {
  const removed = (index: number): DiffLine => ({ kind: "removed", text: before[index] ?? "", line: offset + index + 1 });
  const added = (index: number): DiffLine => ({ kind: "added", text: after[index] ?? "", line: offset + index + 1 });
  const width = after.length + 1;
  if ((before.length + 1) * width > LARGEST_TABLE) {
    return [...before.map((_, index) => removed(index)), ...after.map((_, index) => added(index))];
  }
  // Lengths of the longest common part of what follows.
  const common = new Uint32Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      common[row * width + column] =
        before[row] === after[column]
          ? (common[(row + 1) * width + column + 1] ?? 0) + 1
          : Math.max(common[(row + 1) * width + column] ?? 0, common[row * width + column + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    if (row < before.length && column < after.length && before[row] === after[column]) {
      lines.push({ kind: "same", text: after[column] ?? "", line: offset + column + 1 });
      row += 1;
      column += 1;
    } else if (
      row < before.length &&
      (column === after.length ||
        (common[(row + 1) * width + column] ?? 0) >= (common[row * width + column + 1] ?? 0))
    ) {
      lines.push(removed(row));
      row += 1;
    } else {
      lines.push(added(column));
      column += 1;
    }
  }
  return lines;
}
