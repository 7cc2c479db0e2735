import { expect, it } from "vitest";
import { colourings, shareOf, toneOf } from "./blocks";

const block = { provenance: "memory", sensitivity: "private", cache: "none", stable: true } as const;

it("a block has a tone of every colouring, and the legend knows it", () => {
  expect(toneOf(block, "provenance")).toBe("memory");
  expect(toneOf(block, "sensitivity")).toBe("private");
  expect(toneOf(block, "cache")).toBe("stable");
  expect(toneOf({ ...block, cache: "read" }, "cache")).toBe("read");
  expect(toneOf({ ...block, stable: false }, "cache")).toBe("changing");
  for (const colouring of ["provenance", "sensitivity", "cache"] as const) {
    expect(colourings[colouring].tones).toHaveProperty(toneOf(block, colouring));
  }
});

it("a block without a count of tokens still has a width", () => {
  expect(shareOf({ tokens: 12, content: "" })).toBe(12);
  expect(shareOf({ tokens: null, content: "x".repeat(40) })).toBe(10);
  expect(shareOf({ tokens: 0, content: "" })).toBe(1);
});
