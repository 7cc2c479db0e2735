import { describe, expect, it } from "vitest";
import { hunks, lineDiff } from "./lineDiff";

const rebuilt = (before: string, after: string, side: "removed" | "added") =>
  lineDiff(before.split("\n"), after.split("\n"))
    .filter((line) => line.kind === "same" || line.kind === side)
    .map((line) => line.text)
    .join("\n");

describe("the difference of two texts", () => {
  it("holds both texts whole", () => {
    const cases = [
      ["a\nb\nc", "a\nx\nc"],
      ["", "a"],
      ["a\na\na", "a\na"],
      ["a\nb\nc\nd", "b\na\nd\nc"],
      ["same", "same"],
    ] as const;
    for (const [before, after] of cases) {
      expect(rebuilt(before, after, "removed")).toBe(before);
      expect(rebuilt(before, after, "added")).toBe(after);
    }
  });

  it("is shown in hunks that do not overlap", () => {
    const before = Array.from({ length: 20 }, (_, index) => `l${index}`);
    const after = before.map((line, index) => ([3, 6, 15].includes(index) ? `${line}!` : line));
    const found = hunks(before.join("\n"), after.join("\n"));
    expect(found.length).toBe(2);
    expect(found[0]?.lines.map((line) => line.text)).toEqual(
      ["l1", "l2", "l3", "l3!", "l4", "l5", "l6", "l6!", "l7", "l8"],
    );
    expect(hunks("a", "a")).toEqual([]);
  });
});
