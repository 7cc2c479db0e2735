// One node of a run: what went in, what came out, what it cost, what a model was asked, what it printed.
import { useCallback, useState } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/problem";
import type { NodeRun, NodeRunWhole, RunView } from "../api/contract";
import { useLoaded } from "../app/loading";
import { go } from "../app/route";
import { Button, IconButton } from "../design/Button";
import { JsonView } from "../design/JsonView";
import { Prose } from "../design/Prose";
import { Failed, Loading, Notice } from "../design/States";
import { Tabs } from "../design/Tabs";
import { duration, grouped, money } from "./amounts";
import { Decision } from "./Decision";
import { OriginLink } from "./OriginLink";
import { PromptView } from "./PromptView";
import { hasEnded, ReusedBadge, StatusBadge } from "./status";
import { isReused } from "./timeline";

interface NodeDetailProps {
  view: RunView;
  node: NodeRun;
  onClose: () => void;
  /** Something was done to the run. */
  onDone: () => void;
}

type Part = "output" | "input" | "prompt" | "logs";

export function NodeDetail({ view, node, onClose, onDone }: NodeDetailProps) {
  const [part, setPart] = useState<Part>(node.prompts > 0 ? "prompt" : "output");
  const [fault, setFault] = useState<string | null>(null);
  const tabs: { id: Part; title: string }[] = [];
  if (node.prompts > 0) tabs.push({ id: "prompt", title: "Prompt" });
  tabs.push({ id: "output", title: "Output" }, { id: "input", title: "Input" });
  tabs.push({ id: "logs", title: node.logs.length === 0 ? "Logs" : `Logs (${node.logs.length})` });

  const replay = async () => {
    try {
      const begun = await api.replay(view.run_id, node.id);
      go({ page: "run", id: begun.run_id });
    } catch (error) {
      setFault(messageOf(error));
    }
  };

  return (
    <section className="column" aria-label={`Step ${node.id}`}>
      <header className="detail-head">
        <div className="row wrap">
          <StatusBadge status={node.status} />
          <h2>{node.id}</h2>
          <OriginLink source={view.source} place={node.origin} />
          <span className="grow" />
          {hasEnded(view.status) && (
            <Button small icon="replay" onClick={() => void replay()} title="This step and what follows run anew">
              Replay from here
            </Button>
          )}
          <IconButton icon="close" small label="Close" onClick={onClose} />
        </div>
        <Facts node={node} />
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        {node.asks.map((question) => (
          <Decision key={question.digest} run={view.run_id} question={question} onDecided={onDone} />
        ))}
        {node.error !== null && <ErrorNotice view={view} node={node} />}
        {node.reason !== null && node.error === null && node.status !== "asks" && (
          <p className="soft">
            <Prose text={node.reason} />
          </p>
        )}
      </header>
      <div className="tab-bar">
        <Tabs label="Parts of the step" tabs={tabs} current={part} onChange={setPart} />
      </div>
      <div className="detail scroll">
        <Body view={view} node={node} part={part} />
      </div>
    </section>
  );
}

function Facts({ node }: { node: NodeRun }) {
  const facts: string[] = [node.type];
  if (node.duration_ms > 0 && !isReused(node)) facts.push(duration(node.duration_ms));
  if (node.attempts > 1) facts.push(`${node.attempts} attempts`);
  if (node.model !== null) facts.push(node.model);
  // What another run spent is not this run's.
  if (node.usage !== null && !isReused(node)) {
    facts.push(`${grouped(node.usage.input_tokens)} tokens in, ${grouped(node.usage.output_tokens)} out`);
    if (node.usage.cache_read_tokens > 0) facts.push(`${grouped(node.usage.cache_read_tokens)} from cache`);
  }
  if (node.cost_micros !== null && !isReused(node)) facts.push(money(node.cost_micros));
  if (node.calls > 1) facts.push(`${node.calls} calls`);
  return (
    <p className="soft fact-line">
      {facts.map((fact) => (
        <span key={fact}>{fact}</span>
      ))}
      <ReusedBadge node={node} />
      {node.degraded && <span className="badge warn">fallback answered</span>}
      {node.dropped_outputs.length > 0 && <span className="badge warn">dropped: {node.dropped_outputs.join(", ")}</span>}
      {node.flagged.map((text) => (
        <span key={text} className="badge warn">
          flagged: {text}
        </span>
      ))}
    </p>
  );
}

function ErrorNotice({ view, node }: { view: RunView; node: NodeRun }) {
  const { error } = node;
  if (error === null) return null;
  const place = error.line === undefined ? node.origin : { line: error.line, column: error.column ?? 1 };
  return (
    <Notice tone="bad">
      <p className="error-text">
        <Prose text={error.reason} />
      </p>
      <p className="row wrap soft">
        <span className="badge">{error.code}</span>
        <span>attempt {error.attempt}</span>
        <span>{error.retryable ? "may be tried again" : "not tried again"}</span>
        <OriginLink source={view.source} place={place} label={place === null ? "" : `line ${place.line}`} />
      </p>
      {error.details !== undefined && error.details !== null && <JsonView value={error.details} label="Details" />}
    </Notice>
  );
}

function Body({ view, node, part }: { view: RunView; node: NodeRun; part: Part }) {
  // What was cut for the overview, and prompts, are fetched when they are looked at.
  const needsWhole = part === "prompt" || (node.truncated && part !== "logs");
  if (needsWhole) return <WholeBody key={`${node.status}:${node.attempts}`} view={view} node={node} part={part} />;
  return <Values node={node} part={part} />;
}

function WholeBody({ view, node, part }: { view: RunView; node: NodeRun; part: Part }) {
  const load = useCallback((): Promise<NodeRunWhole> => api.runNode(view.run_id, node.id), [view.run_id, node.id]);
  const { value, error, reload } = useLoaded(load);
  if (error !== null) return <Failed error={error} retry={reload} />;
  if (value === null) return <Loading what="Loading the step" />;
  if (part === "prompt") return <PromptView questions={value.questions} source={view.source} places={node.places} />;
  return <Values node={value} part={part} />;
}

function Values({ node, part }: { node: NodeRun; part: Part }) {
  if (part === "logs") {
    if (node.logs.length === 0) return <p className="soft">This step printed nothing.</p>;
    return <pre className="logs">{node.logs.join("\n")}</pre>;
  }
  const value = part === "input" ? node.inputs : node.outputs;
  if (value === null) return <p className="soft">{part === "input" ? "Nothing went in." : "Nothing came out."}</p>;
  return <JsonView value={value} label={part === "input" ? "Input" : "Output"} />;
}
