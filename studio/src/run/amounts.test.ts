import { expect, it } from "vitest";
import { bytes, duration, grouped, moment, money, percent } from "./amounts";

it("durations have the digits that matter", () => {
  expect([0.25, 4.21, 42.4, 1234, 12345, 61000, 7_260_000].map(duration)).toEqual([
    "0.25 ms",
    "4.2 ms",
    "42 ms",
    "1.23 s",
    "12.3 s",
    "1 min 1 s",
    "2 h 1 min",
  ]);
});

it("a minute has no sixtieth second", () => {
  expect([59_940, 59_960, 119_600, 3_599_700].map(duration)).toEqual(["59.9 s", "1 min 0 s", "2 min 0 s", "1 h 0 min"]);
});

it("small sums keep their digits", () => {
  expect([0, 12, 1200, 250_000, 12_500_000, 1_234_000_000].map(money)).toEqual([
    "$0",
    "$0.000012",
    "$0.0012",
    "$0.2500",
    "$12.50",
    "$1\u202f234",
  ]);
});

it("counts are grouped and parts are of a whole", () => {
  expect(grouped(1234567)).toBe("1\u202f234\u202f567");
  expect([percent(1, 3), percent(0, 0), percent(2, 2)]).toEqual(["33.3%", "0%", "100%"]);
  expect([bytes(12), bytes(2048), bytes(20480)]).toEqual(["12 B", "2.0 KB", "20 KB"]);
});

it("a moment of today is a time of day", () => {
  const now = new Date(2026, 3, 1, 12);
  expect(moment(new Date(2026, 3, 1, 9, 5, 7).toISOString(), now)).toBe("09:05:07");
  expect(moment(new Date(2026, 2, 1, 9, 5, 7).toISOString(), now)).toBe("2026-03-01 09:05:07");
  expect(moment("never", now)).toBe("never");
});
