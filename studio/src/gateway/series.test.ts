import { expect, it } from "vitest";
import type { GatewayStats } from "../api/contract";
import { amount, axisOf, bars, CHART, hitPath } from "./series";

const HOUR = 3600;

const bucket = (hour: number, spent: string, saved: string, hit: number | null): GatewayStats["series"][number] => ({
  start: `2026-01-01T0${hour}:00:00Z`,
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
  const series = [bucket(1, "1.000000000", "1.000000000", 0.5), bucket(4, "0.500000000", "-0.1", null)];
  const [first, second] = bars(series, axisOf(series, HOUR));
  expect((first?.spent ?? 0) + (first?.saved ?? 0)).toBeCloseTo(CHART.height);
  expect(second?.saved).toBe(0);
  expect(second?.spent).toBeCloseTo(CHART.height / 4);
});

it("bars are drawn at their times, and few of them do not fill the chart", () => {
  const series = [bucket(1, "1", "0", null), bucket(4, "1", "0", null)];
  const axis = axisOf(series, HOUR);
  expect(axis.to - axis.from).toBe(24 * HOUR * 1000);
  const [first, second] = bars(series, axis);
  expect(first?.x).toBe(0);
  expect(second?.x).toBeCloseTo((3 * CHART.width) / 24);
  expect(first?.width).toBeLessThanOrEqual(CHART.width / 24);
});

it("the line of the hit rate has a gap where nothing was asked", () => {
  const series = [bucket(1, "0", "0", 1), bucket(2, "0", "0", 0.5), bucket(3, "0", "0", null), bucket(4, "0", "0", 0)];
  const path = hitPath(series, axisOf(series, HOUR));
  expect(path.match(/M/g)).toHaveLength(2);
  expect(path.match(/L/g)).toHaveLength(1);
  expect(hitPath([], axisOf([], HOUR))).toBe("");
});

it("a decimal that is not a number counts as nothing", () => {
  expect(amount("x")).toBe(0);
  expect(amount(null)).toBe(0);
  expect(amount("0.25")).toBe(0.25);
});
