import { expect, it } from "vitest";
import type { GatewayStats } from "../api/gateway";
import { amount, bars, CHART, hitPath } from "./series";

const bucket = (spent: string, saved: string, hit: number | null): GatewayStats["series"][number] => ({
  start: "2026-01-01T00:00:00Z",
  requests: 1,
  answered: 1,
  refused: 0,
  failed: 0,
  cancelled: 0,
  input_tokens: 10,
  output_tokens: 1,
  cache_read_tokens: 5,
  cache_written_tokens: 0,
  hit_rate: hit,
  spent_usd: spent,
  saved_usd: saved,
  unpriced: 0,
});

it("the tallest bar fills the chart, and a loss draws nothing", () => {
  const [first, second] = bars([bucket("1.000000000", "1.000000000", 0.5), bucket("0.500000000", "-0.1", null)]);
  const room = CHART.height - CHART.foot;
  expect((first?.spent ?? 0) + (first?.saved ?? 0)).toBeCloseTo(room);
  expect(second?.saved).toBe(0);
  expect(second?.spent).toBeCloseTo(room / 4);
});

it("the line of the hit rate has a gap where nothing was asked", () => {
  const path = hitPath([bucket("0", "0", 1), bucket("0", "0", null), bucket("0", "0", 0)]);
  expect(path.match(/M/g)).toHaveLength(2);
  expect(hitPath([])).toBe("");
});

it("a decimal that is none counts as nothing", () => {
  expect(amount("x")).toBe(0);
  expect(amount("0.25")).toBe(0.25);
});
