import { expect, it } from "vitest";
import type { NodeRun } from "../api/contract";
import { spanOf, timeOf } from "./timeline";

const step = (part: Partial<NodeRun>) => ({ started_ms: 0, duration_ms: 10, ...part }) as NodeRun;

it("a step that was reused has no time of its own in the run", () => {
  const reused = step({ started_ms: -1_054_000, duration_ms: 4000, reused: true });
  const own = step({ started_ms: 50, duration_ms: 50 });
  const total = timeOf({ duration_ms: 100, nodes: [reused, own] });
  expect(total).toBe(100);
  expect(spanOf(reused, total)).toBeNull();
  expect(spanOf(own, total)).toEqual({ left: 50, width: 50 });
});

it("bars stay inside the track", () => {
  const late = step({ started_ms: 1000, duration_ms: 0 });
  expect(spanOf(late, 1000)).toEqual({ left: 99.5, width: 0.5 });
  const early = step({ started_ms: -5, duration_ms: 5 });
  expect(spanOf(early, 10)).toEqual({ left: 0, width: 50 });
  expect(spanOf(step({ started_ms: null }), 10)).toBeNull();
});
