// Times, tokens and money as people read them.

export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  // Rounded first, so that nothing is shown as 60 seconds of a minute.
  if (seconds < 59.95) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Micro-dollars as dollars: small sums keep the digits that say something. */
export function money(micros: number): string {
  const dollars = micros / 1e6;
  const sign = dollars < 0 ? "-" : "";
  const size = Math.abs(dollars);
  if (size === 0) return "$0";
  if (size < 0.01) return `${sign}$${trimmed(size.toFixed(6))}`;
  if (size < 100) return `${sign}$${size.toFixed(size < 1 ? 4 : 2)}`;
  return `${sign}$${grouped(Math.round(size))}`;
}

export function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** "1 token", "12 tokens". */
export function tokens(count: number): string {
  return `${grouped(count)} token${count === 1 ? "" : "s"}`;
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? "0%" : `${((100 * part) / whole).toFixed(part === whole || part === 0 ? 0 : 1)}%`;
}

export function bytes(count: number): string {
  return count < 1024 ? `${count} B` : `${(count / 1024).toFixed(count < 10240 ? 1 : 0)} KB`;
}

/** A time of day for today, a date for other days; the whole is in a tooltip. */
export function moment(text: string, now: Date): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  if (time.toDateString() === now.toDateString()) return clock;
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clock}`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

function trimmed(text: string): string {
  return text.replace(/0+$/, "").replace(/\.$/, "");
}
