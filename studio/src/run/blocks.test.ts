import { expect, it } from "vitest";
import type { Block } from "../api/contract";
import { colourings, describe, messagesOf, shareOf, toneOf } from "./blocks";

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

const whole = (index: number, role: Block["role"]): Block => ({
  ...block,
  index,
  role,
  span_id: null,
  name: "query",
  type: "text",
  tokens: 1,
  content: "x",
  truncated: false,
  withheld: false,
  origin: { line: 7, column: 1 },
});

it("blocks of one role are one message", () => {
  const messages = messagesOf([whole(0, "system"), whole(1, "user"), whole(2, "user"), whole(3, "system")]);
  expect(messages.map((message) => message.map((each) => each.index))).toEqual([[0], [1, 2], [3]]);
});

it("a block says where it comes from", () => {
  expect(describe(whole(0, "user"))).toBe("query, from session memory, private, 1 token, line 7");
});
