// The bars and the line of the chart, in the units of its drawing.
import type { GatewayStats, Sums } from "../api/gateway";

export const CHART = { width: 720, height: 160, foot: 18 };

export interface Bar {
  x: number;
  width: number;
  /** Heights from the ground, of what was spent and of what was saved on top of it. */
  spent: number;
  saved: number;
  sums: Sums & { start: string };
}

/** What was saved is shown above what was spent: together they are what it would have cost. */
export function bars(series: GatewayStats["series"]): Bar[] {
  const dollars = series.map((each) => ({ spent: amount(each.spent_usd), saved: Math.max(0, amount(each.saved_usd)) }));
  const most = Math.max(1e-12, ...dollars.map(({ spent, saved }) => spent + saved));
  const room = CHART.height - CHART.foot;
  const step = CHART.width / Math.max(1, series.length);
  return series.map((sums, index) => ({
    x: index * step,
    width: Math.max(1, step - Math.min(2, step / 4)),
    spent: ((dollars[index]?.spent ?? 0) / most) * room,
    saved: ((dollars[index]?.saved ?? 0) / most) * room,
    sums,
  }));
}

/** The hit rate as a path; buckets without input leave a gap. */
export function hitPath(series: GatewayStats["series"]): string {
  const room = CHART.height - CHART.foot;
  const step = CHART.width / Math.max(1, series.length);
  let path = "";
  let isOpen = false;
  series.forEach((each, index) => {
    if (each.hit_rate === null) {
      isOpen = false;
      return;
    }
    const x = (index + 0.5) * step;
    const y = room - each.hit_rate * room;
    path += `${isOpen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isOpen = true;
  });
  return path;
}

export function amount(decimal: string): number {
  const number = Number(decimal);
  return Number.isFinite(number) ? number : 0;
}
