// The state of a run or a node, as a badge.
import type { NodeRun, NodeRunStatus, RunStatus } from "../api/contract";

const TONE: Record<RunStatus | NodeRunStatus, string> = {
  ok: "good",
  error: "bad",
  queued: "",
  running: "busy",
  waiting: "",
  asks: "warn",
  interrupted: "warn",
  quarantined: "bad",
  skipped: "",
  cancelled: "",
};

const WORD: Partial<Record<RunStatus | NodeRunStatus, string>> = { asks: "asks for a decision" };

export function StatusBadge({ status }: { status: RunStatus | NodeRunStatus }) {
  return (
    <span className={`badge ${TONE[status]}`}>
      <span className="dot" aria-hidden="true" />
      {WORD[status] ?? status}
    </span>
  );
}

/** Says that a step did no work in this run: its result is another run's, or the cache's. */
export function ReusedBadge({ node }: { node: Pick<NodeRun, "reused" | "cached"> }) {
  if (node.reused) return <span className="badge info">reused</span>;
  return node.cached ? <span className="badge info">from the cache</span> : null;
}

export function hasEnded(status: RunStatus): boolean {
  return status === "ok" || status === "error" || status === "cancelled";
}
