// Two runs beside each other: what differs in the request, the output and in each step.
import { useCallback } from "react";
import { api } from "../api/client";
import type { Comparison, Difference, Json, NodeSide, RunSide } from "../api/contract";
import { useLoaded } from "../app/loading";
import { address } from "../app/route";
import { Empty, Failed, Loading } from "../design/States";
import { duration, grouped, moment, money } from "./amounts";
import "./run.css";
import { StatusBadge } from "./status";

export default function ComparePage({ a, b }: { a: string; b: string }) {
  const load = useCallback(() => api.compare(a, b), [a, b]);
  const { value, error, reload } = useLoaded(load);
  if (a === "" || b === "") return <Empty title="Choose two runs to compare" />;
  if (error !== null) return <Failed error={error} retry={reload} />;
  if (value === null) return <Loading what="Comparing" />;
  return (
    <div className="page scroll">
      <header className="page-head">
        <h1>Two runs</h1>
        <span className="badge">{value.same_document ? "the same flow" : "the flow changed between them"}</span>
      </header>
      <div className="compare-sides">
        <Side name="Before" side={value.a} />
        <Side name="After" side={value.b} />
      </div>
      <Section title="Request" differences={value.request} />
      <Section title="Output" differences={value.output} />
      <h2>Steps</h2>
      {value.nodes.map((node) => (
        <NodeComparison key={node.id} node={node} />
      ))}
    </div>
  );
}

function Side({ name, side }: { name: string; side: RunSide }) {
  const { usage } = side;
  return (
    <section className="card stack">
      <div className="row">
        <h2>{name}</h2>
        <StatusBadge status={side.status} />
      </div>
      <a className="mono clip" href={address({ page: "run", id: side.run_id })}>
        {side.run_id}
      </a>
      <p className="soft fact-line">
        <span>{moment(side.started_at, new Date())}</span>
        <span>{duration(side.duration_ms)}</span>
        <span>{grouped(usage.input_tokens + usage.output_tokens)} tokens</span>
        {usage.cost_micros !== undefined && <span>{money(usage.cost_micros)}</span>}
      </p>
    </section>
  );
}

function Section({ title, differences }: { title: string; differences: readonly Difference[] }) {
  return (
    <section className="stack">
      <h2>{title}</h2>
      <Differences differences={differences} />
    </section>
  );
}

function Differences({ differences }: { differences: readonly Difference[] }) {
  if (differences.length === 0) return <p className="soft">No difference.</p>;
  return (
    <div className="card table-card">
      <table className="differences">
        <tbody>
          {differences.map((difference) => (
            <tr key={difference.path}>
              <td className="faint">{difference.path === "" ? "whole value" : difference.path}</td>
              <td className="before">{valueText(difference.before)}</td>
              <td className="after">{valueText(difference.after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function valueText(value: Json | undefined): string {
  if (value === undefined) return "absent";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function NodeComparison({ node }: { node: Comparison["nodes"][number] }) {
  return (
    <details className="card compare-node" open={!node.same}>
      <summary>
        <strong>{node.id}</strong>
        <SideFacts side={node.a} />
        <span aria-hidden="true">→</span>
        <SideFacts side={node.b} />
        <span className="grow" />
        <span className={`badge ${node.same ? "" : "warn"}`}>{node.same ? "same" : "differs"}</span>
      </summary>
      <div className="detail stack">
        <h3>Input</h3>
        <Differences differences={node.inputs} />
        <h3>Output</h3>
        <Differences differences={node.outputs} />
        {[node.a?.error, node.b?.error].map(
          (error, index) =>
            error !== null &&
            error !== undefined && (
              <p key={index} className="bad-text">
                {index === 0 ? "Before" : "After"}: {error.reason}
              </p>
            ),
        )}
      </div>
    </details>
  );
}

function SideFacts({ side }: { side: NodeSide | null }) {
  if (side === null) return <span className="faint">not there</span>;
  return (
    <span className="row">
      <StatusBadge status={side.status} />
      <span className="faint">{duration(side.duration_ms)}</span>
    </span>
  );
}
