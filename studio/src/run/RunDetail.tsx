// The run as a whole: what it was asked and what it answered.
import { useState } from "react";
import type { RunView } from "../api/contract";
import { JsonView } from "../design/JsonView";
import { Tabs } from "../design/Tabs";
import { moment } from "./amounts";

export function RunDetail({ view }: { view: RunView }) {
  const [tab, setTab] = useState<"output" | "request" | "decisions">("output");
  const tabs = [
    { id: "output", title: "Output" },
    { id: "request", title: "Request" },
    ...(view.decisions.length > 0 ? [{ id: "decisions", title: "Decisions" } as const] : []),
  ] as const;
  return (
    <section className="column" aria-label="The run">
      <div className="tab-bar">
        <Tabs label="Parts of the run" tabs={tabs} current={tab} onChange={setTab} />
      </div>
      <div className="detail scroll">
        {tab === "output" &&
          (view.output === null ? (
            <p className="soft">{view.error === null ? "No output yet." : "The run failed and has no output."}</p>
          ) : (
            <JsonView value={view.output} label="Output" />
          ))}
        {tab === "request" && <JsonView value={view.request} label="Request" />}
        {tab === "decisions" && (
          <ul className="stack">
            {view.decisions.map((decision) => (
              <li key={decision.node + decision.decided_at}>
                <span className={`badge ${decision.approved ? "good" : "bad"}`}>
                  {decision.approved ? "approved" : "rejected"}
                </span>{" "}
                <code>{decision.node}</code>{" "}
                <span className="faint">
                  {decision.decided_by != null && `by ${decision.decided_by}, `}
                  {moment(decision.decided_at, new Date())}
                </span>
                {decision.comment !== null && <p>{decision.comment}</p>}
              </li>
            ))}
          </ul>
        )}
        <p className="hint faint">Choose a step to see its input, output and prompt.</p>
      </div>
    </section>
  );
}
