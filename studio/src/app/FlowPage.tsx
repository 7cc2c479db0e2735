// The open flow: graph, text and chat beside each other, or one at a time where there is little room.
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import type { Session } from "../api/contract";
import { ChatPanel } from "../chat/ChatPanel";
import { Split } from "../design/Split";
import { Loading } from "../design/States";
import { Tabs } from "../design/Tabs";
import { useWidth } from "../design/width";
import { offsetOf } from "../document/changes";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import { FlowGraph } from "../graph/FlowGraph";
import { Problems } from "../text/Problems";
import { StatusBar } from "./StatusBar";

const YamlEditor = lazy(() => import("../text/YamlEditor"));

export type View = "graph" | "text" | "chat" | "problems";

interface FlowPageProps {
  document: FlowDocument;
  session: Session;
  /** The view that was asked for last, by a key or a link. */
  view: View;
  onView: (view: View) => void;
  place: { line: number; column: number } | null;
}

export function FlowPage({ document, session, view, onView, place }: FlowPageProps) {
  const width = useWidth();
  const [wanted, setWanted] = useState<boolean | null>(null);
  const hasFindings = useStore(document.store, (state) => (state.analysis?.diagnostics.length ?? 0) > 0);
  // Problems show themselves until a person says otherwise.
  const showProblems = wanted ?? hasFindings;
  const readOnly = session.read_only;
  const reveal = useStore(document.store, (state) => state.reveal);

  const line = place?.line;
  const column = place?.column ?? 1;
  useEffect(() => {
    if (line === undefined) return;
    const { text } = document.state;
    document.reveal(offsetOf(text, line, column), offsetOf(text, line + 1, 1) - 1, true);
  }, [document, line, column]);

  // A place is shown in the text: where views take turns, it is the text's turn.
  const [seen, setSeen] = useState(reveal);
  if (seen !== reveal) {
    setSeen(reveal);
    if (reveal !== null && view !== "text") onView("text");
  }

  const graph = <FlowGraph document={document} readOnly={readOnly} />;
  const text = (
    <Suspense fallback={<Loading what="Loading the editor" />}>
      <YamlEditor document={document} readOnly={readOnly} />
    </Suspense>
  );
  const chat = <ChatPanel document={document} session={session} readOnly={readOnly} />;
  const problems = <Problems document={document} readOnly={readOnly} />;

  return (
    <div className="flow-page">
      <div className="flow-views">
        {width === "narrow" ? (
          <Narrow view={view} onView={onView} views={{ graph, text, chat, problems }} />
        ) : (
          <Roomy
            three={width === "wide"}
            view={view}
            onView={onView}
            views={{ graph, text, chat, problems }}
            showProblems={showProblems}
          />
        )}
      </div>
      <StatusBar
        document={document}
        problemsShown={showProblems}
        onProblems={() => (width === "narrow" ? onView("problems") : setWanted(!showProblems))}
      />
    </div>
  );
}

type Views = Record<View, ReactNode>;

interface ArrangedProps {
  view: View;
  onView: (view: View) => void;
  views: Views;
}

function Narrow({ view, onView, views }: ArrangedProps) {
  const tabs = [
    { id: "graph", title: "Graph" },
    { id: "text", title: "YAML" },
    { id: "chat", title: "Chat" },
    { id: "problems", title: "Problems" },
  ] as const;
  return (
    <div className="column">
      <div className="tab-bar">
        <Tabs label="Views of the flow" tabs={tabs} current={view} onChange={onView} />
      </div>
      {/* Views that are not shown stay, so that a selection and a cursor survive. */}
      {tabs.map(({ id }) => (
        <div key={id} className="view" hidden={id !== view} data-view={id}>
          {views[id]}
        </div>
      ))}
    </div>
  );
}

function Roomy({ view, onView, views, three, showProblems }: ArrangedProps & { three: boolean; showProblems: boolean }) {
  const side = view === "chat" ? "chat" : "text";
  const right = three ? (
    <Split
      label="Width of the text"
      direction="row"
      initial={0.6}
      first={<Framed name="text">{views.text}</Framed>}
      second={<Framed name="chat">{views.chat}</Framed>}
    />
  ) : (
    <div className="column">
      <div className="tab-bar">
        <Tabs
          label="Text or chat"
          tabs={[
            { id: "text", title: "YAML" },
            { id: "chat", title: "Chat" },
          ]}
          current={side}
          onChange={onView}
        />
      </div>
      <div className="view" hidden={side !== "text"} data-view="text">
        {views.text}
      </div>
      <div className="view" hidden={side !== "chat"} data-view="chat">
        {views.chat}
      </div>
    </div>
  );
  const main = (
    <Split
      key="graph"
      label="Width of the graph"
      direction="row"
      initial={three ? 0.46 : 0.56}
      first={<Framed name="graph">{views.graph}</Framed>}
      second={right}
    />
  );
  if (!showProblems) return main;
  return (
    <Split
      key="problems"
      label="Height of the problems"
      direction="column"
      initial={0.82}
      first={main}
      second={
        <div className="column" data-view="problems">
          {views.problems}
        </div>
      }
    />
  );
}

function Framed({ name, children }: { name: View; children: ReactNode }) {
  return (
    <div className="view" data-view={name}>
      {children}
    </div>
  );
}
