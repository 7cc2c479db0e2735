// The state of a run or a node, as a badge.
import type { NodeRun, NodeStatus, RunStatus } from "../api/runs";

const TONE: Record<RunStatus | NodeStatus, string> = {
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

const WORD: Partial<Record<RunStatus | NodeStatus, string>> = { asks: "asks for a decision" };

export function StatusBadge({ status }: { status: RunStatus | NodeStatus }) {
  return (
    <span className={`badge ${TONE[status]}`}>
      <span className="dot" aria-hidden="true" />
      {WORD[status] ?? status}
    </span>
  );
}

/** Says that a step did no work in this run: its result is another run's, or the cache's. */
export function ReusedBadge({ node }: { node: Pick<NodeRun, "reused" | "cached"> }) {
  if (node.reused === true) return <span className="badge info">reused</span>;
  return node.cached ? <span className="badge info">from the cache</span> : null;
}

export function hasEnded(status: RunStatus): boolean {
  return status === "ok" || status === "error" || status === "cancelled";
}
