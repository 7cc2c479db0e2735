// The steps of a run in time: when each began, how long it took, what it used.
import type { NodeRun, RunView } from "../api/runs";
import { Prose } from "../design/Prose";
import { duration, grouped, money } from "./amounts";
import { StatusBadge } from "./status";

interface StepsProps {
  view: RunView;
  selected: string | null;
  onSelect: (node: string) => void;
}

export function Steps({ view, selected, onSelect }: StepsProps) {
  const total = Math.max(view.duration_ms, ...view.nodes.map((node) => (node.started_ms ?? 0) + node.duration_ms), 1);
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
                {node.attempts > 1 && <div className="faint">{node.attempts} attempts</div>}
              </td>
              <td className="timeline">
                <Bar node={node} total={total} />
              </td>
              <td className="number">{node.duration_ms > 0 ? duration(node.duration_ms) : ""}</td>
              <td className="number wide-only">{tokens(node)}</td>
              <td className="number wide-only">{node.cost_micros === null ? "" : money(node.cost_micros)}</td>
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
  const left = (100 * node.started_ms) / total;
  const width = Math.max(0.6, (100 * node.duration_ms) / total);
  return (
    <div className="track" aria-hidden="true">
      <div className={`span ${node.status}`} style={{ left: `${Math.min(left, 99)}%`, width: `${Math.min(width, 100 - left)}%` }} />
    </div>
  );
}
