// One run: its graph with the state of every node, its steps in time, and what is known of each.
import { useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import type { Graph, NodeRun, RunView } from "../api/contract";
import { address, stay } from "../app/route";
import { useLoaded } from "../app/loading";
import { Button } from "../design/Button";
import { Prose } from "../design/Prose";
import { Split } from "../design/Split";
import { Empty, Failed, Loading, Notice } from "../design/States";
import { Tabs } from "../design/Tabs";
import { useWidth } from "../design/width";
import { runKey, type RunOverlay } from "../graph/elements";
import { GraphCanvas } from "../graph/GraphCanvas";
import { duration, grouped, moment, money } from "./amounts";
import { NodeDetail } from "./NodeDetail";
import { OriginLink } from "./OriginLink";
import "./run.css";
import { RunActions } from "./RunActions";
import { RunDetail } from "./RunDetail";
import { hasEnded, StatusBadge } from "./status";
import { Steps } from "./Steps";
import { useRun } from "./watching";

interface RunPageProps {
  id: string;
  node: string | null;
  /** Reports which of the studio's files the run was made from. */
  onSource: (run: string, path: string | null) => void;
}

export default function RunPage({ id, node, onSource }: RunPageProps) {
  const { view, error, reload } = useRun(id);
  const path = view?.source.path;
  useEffect(() => {
    if (path !== undefined) onSource(id, path);
  }, [id, path, onSource]);
  const width = useWidth();
  const [tab, setTab] = useState<"graph" | "steps" | "detail">("steps");
  if (view === null) return error === null ? <Loading what="Loading the run" /> : <Failed error={error} retry={reload} />;

  const choose = (next: string | null) => {
    stay(next === null ? { page: "run", id } : { page: "run", id, node: next });
    if (next !== null) setTab("detail");
  };
  const chosen = view.nodes.find((each) => each.id === node) ?? null;
  const graph = <RunGraph view={view} selected={node} onSelect={choose} />;
  const steps = <Steps view={view} selected={node} onSelect={choose} />;
  const detail =
    chosen === null ? <RunDetail view={view} /> : (
      <NodeDetail key={chosen.id} view={view} node={chosen} onClose={() => choose(null)} onDone={reload} />
    );

  return (
    <div className="run-page">
      <RunHead view={view} reload={reload} selected={node} onSelect={choose} />
      <div className="flow-views">
        {width === "narrow" ? (
          <div className="column">
            <div className="tab-bar">
              <Tabs
                label="Views of the run"
                tabs={[
                  { id: "graph", title: "Graph" },
                  { id: "steps", title: "Steps" },
                  { id: "detail", title: chosen === null ? "Run" : chosen.id },
                ]}
                current={tab}
                onChange={setTab}
              />
            </div>
            <div className="view">{tab === "graph" ? graph : tab === "steps" ? steps : detail}</div>
          </div>
        ) : (
          <Split
            label="Width of the graph"
            direction="row"
            initial={0.54}
            first={<Split label="Height of the graph" direction="column" initial={0.58} first={graph} second={steps} />}
            second={detail}
          />
        )}
      </div>
    </div>
  );
}

interface RunHeadProps {
  view: RunView;
  reload: () => void;
  selected: string | null;
  onSelect: (node: string) => void;
}

function RunHead({ view, reload, selected, onSelect }: RunHeadProps) {
  const { usage } = view;
  const asking = view.nodes.filter((node) => node.status === "asks" && node.id !== selected);
  const tokens = usage.input_tokens + usage.output_tokens;
  return (
    <header className="run-head">
      <div className="row wrap">
        <StatusBadge status={view.status} />
        <h1 className="clip">{view.flow}</h1>
        <code className="faint clip">{view.run_id}</code>
        <span className="grow" />
        <RunActions view={view} reload={reload} />
      </div>
      <dl className="facts">
        <Fact name="Started" value={moment(view.started_at, new Date())} title={view.started_at} />
        {hasEnded(view.status) && <Fact name="Took" value={duration(view.duration_ms)} />}
        <Fact name="Tokens" value={`${grouped(usage.input_tokens)} in, ${grouped(usage.output_tokens)} out`} />
        {usage.cache_read_tokens > 0 && <Fact name="From cache" value={grouped(usage.cache_read_tokens)} />}
        <Fact name="Cost" value={usage.cost_micros === undefined ? (tokens === 0 ? "$0" : "no price") : money(usage.cost_micros)} />
        {view.replay_of !== null && (
          <div>
            <dt>Replay of</dt>
            <dd>
              <a href={address({ page: "run", id: view.replay_of })}>{view.replay_of}</a>
            </dd>
          </div>
        )}
      </dl>
      {view.error !== null && (
        <Notice tone="bad">
          <p>
            <Prose text={view.error.message} />
          </p>
          <p className="row wrap soft">
            <span className="badge">{view.error.kind}</span>
            {view.error.node !== null && <span>in {view.error.node}</span>}
            {view.error.line !== undefined && (
              <OriginLink source={view.source} place={{ line: view.error.line, column: view.error.column ?? 1 }} />
            )}
          </p>
        </Notice>
      )}
      {asking.map((node) => (
        <Notice
          key={node.id}
          tone="warn"
          actions={
            <Button small onClick={() => onSelect(node.id)}>
              Decide
            </Button>
          }
        >
          {node.id} asks for a decision{node.reason === null ? "." : `: ${node.reason}`}
        </Notice>
      ))}
      {view.source.changed === true && (
        <Notice>The flow changed since this run. Lines are those of the text it ran with, and may be off.</Notice>
      )}
    </header>
  );
}

function Fact({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

interface RunGraphProps {
  view: RunView;
  selected: string | null;
  onSelect: (node: string | null) => void;
}

function RunGraph({ view, selected, onSelect }: RunGraphProps) {
  const { path, text } = view.source;
  const load = useMemo(
    () => async (): Promise<Graph | null> =>
      text === null ? null : (await api.analyse({ path: path ?? "", text })).graph,
    [path, text],
  );
  const { value: graph, error } = useLoaded(load);
  const overlay = useMemo(() => overlayOf(view), [view]);
  const chosen = useMemo(() => (selected === null ? [] : [selected]), [selected]);
  if (text === null) {
    return (
      <Empty title="The flow's file is not here">
        <p>This run was made from {view.source.file}. Its steps are below.</p>
      </Empty>
    );
  }
  if (error !== null) return <Failed error={error} />;
  if (graph === null) return <Loading what="Drawing the graph" />;
  return (
    <GraphCanvas
      graph={graph}
      overlay={overlay}
      label="Graph of the run. Arrow keys go from node to node."
      selected={chosen}
      onSelect={(nodes) => onSelect(nodes.at(-1) ?? null)}
      onOpen={onSelect}
    />
  );
}

function overlayOf(view: RunView): RunOverlay {
  const nodes = new Map<string, NodeRun>(view.nodes.map((node) => [node.id, node]));
  const edges = view.edges.map((edge) => {
    const ends = { from: { node: edge.from, port: edge.from_port }, to: { node: edge.to, port: edge.to_port } };
    return [runKey(ends), edge.state] as const;
  });
  return { nodes, edges: new Map(edges) };
}
