// The bars and the line of the chart, in the units of its drawing.
import type { GatewayStats, Sums } from "../api/contract";

type Series = GatewayStats["series"];

export const CHART = { width: 720, height: 144 };
/** A short time is drawn as part of a longer one: a single bucket does not fill the whole. */
const LEAST_SLOTS = 24;


export interface Bar {
  x: number;
  width: number;
  /** Heights from the ground, of what was spent and of what was saved on top of it. */
  spent: number;
  saved: number;
  sums: Sums & { start: string };
}

/** The places of buckets on the axis, which begins with the first of them. */
export interface Axis {
  /** Where the axis begins and ends, in milliseconds. */
  from: number;
  to: number;
  slots: number;
  slotOf: (start: string) => number;
}

export function axisOf(series: Series, bucketSeconds: number): Axis {
  const step = 1000 * Math.max(1, bucketSeconds);
  const from = Date.parse(series[0]?.start ?? "") || 0;
  const slotOf = (start: string) => Math.max(0, Math.round(((Date.parse(start) || from) - from) / step));
  const slots = Math.max(LEAST_SLOTS, ...series.map((each) => slotOf(each.start) + 1));
  return { from, to: from + slots * step, slots, slotOf };
}

/** What was saved is shown above what was spent: together they are what it would have cost. */
export function bars(series: Series, axis: Axis): Bar[] {
  const dollars = series.map((each) => ({ spent: amount(each.spent_usd), saved: Math.max(0, amount(each.saved_usd)) }));
  const most = Math.max(1e-12, ...dollars.map(({ spent, saved }) => spent + saved));
  const step = CHART.width / axis.slots;
  return series.map((sums, index) => ({
    x: axis.slotOf(sums.start) * step,
    width: Math.max(1, step - Math.min(2, step / 4)),
    spent: ((dollars[index]?.spent ?? 0) / most) * CHART.height,
    saved: ((dollars[index]?.saved ?? 0) / most) * CHART.height,
    sums,
  }));
}

/** The hit rate as a path; buckets without input leave a gap, and one on its own is a dot. */
export function hitPath(series: Series, axis: Axis): string {
  const step = CHART.width / axis.slots;
  let path = "";
  let last: number | null = null;
  for (const each of series) {
    if (each.hit_rate === null) continue;
    const slot = axis.slotOf(each.start);
    const x = ((slot + 0.5) * step).toFixed(1);
    const y = ((1 - each.hit_rate) * CHART.height).toFixed(1);
    path += last !== null && slot === last + 1 ? `L${x} ${y}` : `M${x} ${y}h0`;
    last = slot;
  }
  return path;
}

export function amount(decimal: string | null): number {
  const number = Number(decimal);
  return Number.isFinite(number) ? number : 0;
}
