// The steps of a run in time: when each began, how long it took, what it used.
import type { NodeRun, RunView } from "../api/contract";
import { Prose } from "../design/Prose";
import { duration, grouped, money } from "./amounts";
import { ReusedBadge, StatusBadge } from "./status";
import { isReused, spanOf, timeOf } from "./timeline";

interface StepsProps {
  view: RunView;
  selected: string | null;
  onSelect: (node: string) => void;
}

export function Steps({ view, selected, onSelect }: StepsProps) {
  const total = timeOf(view);
  return (
    <div className="steps scroll">
      <table>
        <thead>
          <tr>
            <th>Step</th>
            <th>Status</th>
            <th className="timeline-head">Time</th>
            <th className="number">Took</th>
            <th className="number wide-only">Tokens</th>
            <th className="number wide-only">Cost</th>
          </tr>
        </thead>
        <tbody>
          {view.nodes.map((node) => (
            <tr key={node.id} className={node.id === selected ? "chosen" : ""} onClick={() => onSelect(node.id)}>
              <td>
                <button type="button" className="step-name" aria-pressed={node.id === selected} onClick={() => onSelect(node.id)}>
                  {node.id}
                </button>
                <div className="faint">{node.type}</div>
              </td>
              <td>
                <StatusBadge status={node.status} />
                <ReusedBadge node={node} />
                {node.attempts > 1 && <div className="faint">{node.attempts} attempts</div>}
              </td>
              <td className="timeline">
                <Bar node={node} total={total} />
              </td>
              <td className="number">{node.duration_ms > 0 && !isReused(node) ? duration(node.duration_ms) : ""}</td>
              <td className="number wide-only">{isReused(node) ? "" : tokens(node)}</td>
              <td className="number wide-only">{node.cost_micros === null || isReused(node) ? "" : money(node.cost_micros)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function tokens(node: NodeRun): string {
  if (node.usage === null) return "";
  return grouped(node.usage.input_tokens + node.usage.output_tokens);
}

function Bar({ node, total }: { node: NodeRun; total: number }) {
  if (node.started_ms === null) return node.reason === null ? null : (
      <span className="faint">
        <Prose text={node.reason} />
      </span>
    );
  const span = spanOf(node, total);
  if (span === null) return null;
  return (
    <div className="track" aria-hidden="true">
      <div className={`span ${node.status}`} style={{ left: `${span.left}%`, width: `${span.width}%` }} />
    </div>
  );
}
