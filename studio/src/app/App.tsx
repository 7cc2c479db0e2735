// The studio as a whole: who is asking, which flow is open, which page is shown.
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { api } from "../api/client";
import { Problem } from "../api/problem";
import type { Session } from "../api/contract";
import { Failed, Loading } from "../design/States";
import { DocumentNotices } from "./DocumentNotices";
import { FilesPage } from "./FilesPage";
import { FlowPage, type View } from "./FlowPage";
import { HelpSheet } from "./HelpSheet";
import { useOpenDocument } from "./openDocument";
import { go, useRoute, type Route } from "./route";
import { useShortcuts } from "./shortcuts";
import { SignIn } from "./SignIn";
import { TopBar } from "./TopBar";
import { useTheme } from "./theme";

const RunsPage = lazy(() => import("../run/RunsPage"));
const RunPage = lazy(() => import("../run/RunPage"));
const ComparePage = lazy(() => import("../run/ComparePage"));
const RunForm = lazy(() => import("../run/RunForm"));
const LinesPage = lazy(() => import("../lines/LinesPage"));
const GatewayPage = lazy(() => import("../gateway/GatewayPage"));

type Asked = { state: "asking" } | { state: "key" } | { state: "failed"; error: unknown } | { state: "in"; session: Session };

export function App() {
  const [asked, setAsked] = useState<Asked>({ state: "asking" });
  const ask = useCallback(() => {
    api.session().then(
      (session) => setAsked({ state: "in", session }),
      (error: unknown) => {
        const wantsKey = error instanceof Problem && error.body.status === 401;
        setAsked(wantsKey ? { state: "key" } : { state: "failed", error });
      },
    );
  }, []);
  useEffect(ask, [ask]);
  switch (asked.state) {
    case "asking":
      return <Loading what="Opening the studio" />;
    case "failed":
      return <Failed error={asked.error} retry={ask} />;
    case "key":
      return <SignIn onSession={(session) => setAsked({ state: "in", session })} />;
    case "in":
      return <Studio session={asked.session} />;
  }
}

function Studio({ session }: { session: Session }) {
  const route = useRoute();
  const path = route.page === "flow" || route.page === "lines" ? route.path : null;
  const { document: flow, error, retry } = useOpenDocument(path, session);
  const [ran, setRan] = useState<{ run: string; path: string | null } | null>(null);
  const [view, setView] = useState<View>("graph");
  const [help, setHelp] = useState(false);
  const [running, setRunning] = useState(false);
  const [theme, nextTheme] = useTheme();

  // A run is about the flow it was made from, whether that is open or not.
  const opened = flow?.state.path ?? null;
  const shown = route.page === "run" && ran?.run === route.id ? (ran.path ?? opened) : opened;
  const noteSource = useCallback((run: string, source: string | null) => setRan({ run, path: source }), []);

  const actions = useMemo<Record<string, () => void>>(() => {
    const open = flow?.state.path;
    const toView = (next: View) => () => {
      if (open !== undefined && route.page !== "flow") go({ page: "flow", path: open });
      setView(next);
      focusView(next);
    };
    return {
      "?": () => setHelp(true),
      "mod+z": () => flow?.undo(),
      "mod+y": () => flow?.redo(),
      "mod+shift+z": () => flow?.redo(),
      "mod+s": () => void flow?.save(),
      "mod+enter": () => setRunning(flow !== null),
      "g h": () => go({ page: "files" }),
      "g f": () => shown !== null && go({ page: "flow", path: shown }),
      "g l": () => shown !== null && go({ page: "lines", path: shown }),
      "g r": () => go({ page: "runs" }),
      "g g": () => go({ page: "gateway" }),
      "alt+1": toView("graph"),
      "alt+2": toView("text"),
      "alt+3": toView("chat"),
      "alt+4": toView("problems"),
    };
  }, [flow, shown, route.page]);
  useShortcuts(actions);

  return (
    <div className="studio">
      <a className="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        window.document.getElementById("main")?.focus();
      }}>
        Skip to the content
      </a>
      <TopBar
        session={session}
        route={route}
        path={shown}
        flow={shown === opened ? flow : null}
        theme={theme}
        onTheme={nextTheme}
        onHelp={() => setHelp(true)}
        onRun={() => setRunning(true)}
      />
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<Loading what="Loading" />}>
          {error !== null ? <Failed error={error} retry={retry} /> : <Page route={route} session={session} flow={flow} view={view} onView={setView} onSource={noteSource} />}
        </Suspense>
      </main>
      <DocumentNotices shown={route.page === "flow" ? route.path : null} />
      {help && <HelpSheet version={session.version} onClose={() => setHelp(false)} />}
      {running && flow !== null && (
        <Suspense fallback={null}>
          <RunForm document={flow} onClose={() => setRunning(false)} />
        </Suspense>
      )}
    </div>
  );
}

interface PageProps {
  route: Route;
  session: Session;
  flow: ReturnType<typeof useOpenDocument>["document"];
  view: View;
  onView: (view: View) => void;
  onSource: (run: string, path: string | null) => void;
}

function Page({ route, session, flow, view, onView, onSource }: PageProps) {
  switch (route.page) {
    case "files":
      return <FilesPage session={session} />;
    case "flow":
      if (flow?.state.path !== route.path) return <Loading what="Opening the flow" />;
      return (
        <FlowPage
          key={route.path}
          document={flow}
          session={session}
          view={view}
          onView={onView}
          place={route.line === undefined ? null : { line: route.line, column: route.column ?? 1 }}
        />
      );
    case "lines":
      return flow?.state.path === route.path ? <LinesPage document={flow} /> : <Loading what="Opening the flow" />;
    case "runs":
      return <RunsPage flow={route.flow ?? null} />;
    case "run":
      return <RunPage key={route.id} id={route.id} node={route.node ?? null} onSource={onSource} />;
    case "compare":
      return <ComparePage a={route.a} b={route.b} />;
    case "gateway":
      return <GatewayPage />;
  }
}

/** Puts the focus into a view: at once where it is shown, else when it is. */
function focusView(view: View): void {
  const focus = (): boolean => {
    const frame = document.querySelector<HTMLElement>(`[data-view="${view}"]`);
    const editor = frame?.querySelector(".yaml-editor")?.shadowRoot?.querySelector<HTMLElement>(".cm-content");
    const other = frame?.querySelector<HTMLElement>(".react-flow__node[tabindex='0'], textarea, .problem");
    (editor ?? other)?.focus({ preventScroll: true });
    return frame?.contains(document.activeElement) ?? false;
  };
  // A later attempt must not take the focus from where a person has gone since.
  if (!focus()) requestAnimationFrame(focus);
}
