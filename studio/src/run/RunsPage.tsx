// The runs of this server, the newest first; two of them can be compared.
import { useCallback, useEffect, useState } from "react";
import { api } from "../api/client";
import type { RunRow, RunStatus } from "../api/contract";
import { useLoaded } from "../app/loading";
import { address, go } from "../app/route";
import { Button } from "../design/Button";
import { Empty, Failed, Loading } from "../design/States";
import { duration, moment } from "./amounts";
import "./run.css";
import { hasEnded, StatusBadge } from "./status";

const LIMIT = 200;
const REFRESH_MS = 3000;
const STATUSES: (RunStatus | "")[] = ["", "queued", "running", "waiting", "interrupted", "quarantined", "ok", "error", "cancelled"];

export default function RunsPage({ flow }: { flow: string | null }) {
  const [status, setStatus] = useState<RunStatus | "">("");
  // The server filters: of many runs, one that waits may be older than all that fit into a list.
  const load = useCallback(() => api.runs(flow ?? undefined, status === "" ? undefined : status, LIMIT), [flow, status]);
  const { value: runs, error, reload } = useLoaded(load);
  const [chosen, setChosen] = useState<string[]>([]);
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);

  const toggle = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2));
  // The newest is first in the list; of two, the older is the one before.
  const [b, a] = (runs ?? []).map((run) => run.run_id).filter((id) => chosen.includes(id));

  return (
    <div className="page scroll">
      <header className="page-head">
        <h1>Runs</h1>
        {flow !== null && (
          <span className="badge">
            {flow} <a href={address({ page: "runs" })}>all flows</a>
          </span>
        )}
        <span className="grow" />
        <label className="row">
          <span className="faint">Status</span>
          <select className="field" value={status} onChange={(event) => setStatus(event.target.value as RunStatus | "")}>
            {STATUSES.map((each) => (
              <option key={each} value={each}>
                {each === "" ? "all" : each}
              </option>
            ))}
          </select>
        </label>
        <Button
          icon="compare"
          disabled={a === undefined || b === undefined}
          onClick={() => a !== undefined && b !== undefined && go({ page: "compare", a, b })}
        >
          Compare two
        </Button>
      </header>
      {error !== null ? (
        <Failed error={error} retry={reload} />
      ) : runs === null ? (
        <Loading what="Loading runs" />
      ) : runs.length === 0 ? (
        <Empty title={status === "" ? "No runs yet" : "No such runs"}>
          <p>Open a flow and start it with Run. Runs started by the program or over HTTP are here as well.</p>
        </Empty>
      ) : (
        <div className="card table-card">
          <table className="stacks runs">
            <thead>
              <tr>
                <th>
                  <span className="visually-hidden">Compare</span>
                </th>
                <th>Status</th>
                <th>Flow</th>
                <th>Run</th>
                <th className="number">Steps</th>
                <th className="number">Took</th>
                <th className="number">Started</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <Row key={run.run_id} run={run} chosen={chosen.includes(run.run_id)} onToggle={toggle} />
              ))}
            </tbody>
          </table>
          {runs.length === LIMIT && <p className="faint listed">The newest {LIMIT} are listed. `stave runs list` has all.</p>}
        </div>
      )}
    </div>
  );
}

function Row({ run, chosen, onToggle }: { run: RunRow; chosen: boolean; onToggle: (id: string) => void }) {
  const took = run.ended_at === null ? null : Date.parse(run.ended_at) - Date.parse(run.started_at);
  return (
    <tr>
      <td className="pick">
        <input
          type="checkbox"
          checked={chosen}
          disabled={!hasEnded(run.status)}
          aria-label={`Compare ${run.run_id}`}
          onChange={() => onToggle(run.run_id)}
        />
      </td>
      <td>
        <StatusBadge status={run.status} />
      </td>
      <td>
        <a href={address({ page: "runs", flow: run.flow })} className="plain-link">
          {run.flow}
        </a>
      </td>
      <td>
        <a href={address({ page: "run", id: run.run_id })} className="mono">
          {run.run_id}
        </a>
        {run.replay_of !== null && <span className="badge">replay</span>}
      </td>
      <td className="number">{run.steps}</td>
      <td className="number">{took === null ? "" : duration(took)}</td>
      <td className="number" title={run.started_at}>
        {moment(run.started_at, new Date())}
      </td>
    </tr>
  );
}
