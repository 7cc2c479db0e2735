// The findings of the checker, ordered for people.
import type { Finding, Severity } from "../api/contract";

const WEIGHT: Record<Severity, number> = { error: 0, warning: 1, note: 2 };

/** Errors first, then by place. */
export function ordered(findings: readonly Finding[]): Finding[] {
  return [...findings].sort(
    (left, right) => WEIGHT[left.severity] - WEIGHT[right.severity] || left.offset - right.offset,
  );
}

/** How many there are, in words: "2 errors, 1 warning". */
export function counted(summary: { errors: number; warnings: number; notes: number }): string {
  const parts = [
    [summary.errors, "error"],
    [summary.warnings, "warning"],
    [summary.notes, "note"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`);
  return said.length === 0 ? "No problems" : said.join(", ");
}
