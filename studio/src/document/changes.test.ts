import { describe, expect, it } from "vitest";
import { applyChanges, difference, fromEdits, offsetOf } from "./changes";

describe("changes of a text", () => {
  it("are applied together, each to the text as it was", () => {
    const changes = [
      { offset: 0, end_offset: 1, insert: "AA" },
      { offset: 2, end_offset: 2, insert: "-" },
    ];
    expect(applyChanges("abc", changes)).toBe("AAb-c");
  });

  it("are the smallest stretch that differs", () => {
    expect(difference("same", "same")).toBeNull();
    expect(difference("a: 1\nb: 2\n", "a: 1\nb: 3\n")).toEqual({ offset: 8, end_offset: 9, insert: "3" });
    expect(difference("aa", "aaa")).toEqual({ offset: 2, end_offset: 2, insert: "a" });
    for (const [before, after] of [["", "x"], ["abab", "ab"], ["xyx", "x"], ["é\n", "e\n"]] as const) {
      const change = difference(before, after);
      expect(change === null ? before : applyChanges(before, [change])).toBe(after);
    }
  });

  it("are made from the edits of a fix", () => {
    const range = { line: 1, column: 1, end_line: 1, end_column: 2 };
    const edits = [{ offset: 0, end_offset: 1, replacement: "z", ...range }];
    expect(applyChanges("abc", fromEdits(edits))).toBe("zbc");
  });
});

describe("the offset of a place", () => {
  it("counts letters, not code units, and stays inside the text", () => {
    expect(offsetOf("a\nbc\n", 2, 2)).toBe(3);
    expect(offsetOf("\u{1F600}x", 1, 2)).toBe(2);
    expect(offsetOf("a\nb", 9, 9)).toBe(3);
    expect(offsetOf("ab\ncd", 1, 99)).toBe(2);
  });
});
