// The bar at the top: where one is, where one can go, and what can be done from everywhere.
import { Button, IconButton } from "../design/Button";
import type { IconName } from "../design/Icon";
import { Icon } from "../design/Icon";
import type { Session } from "../api/contract";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import { address, type Route } from "./route";
import type { Theme } from "./theme";

interface TopBarProps {
  session: Session;
  route: Route;
  /** The file of the flow that the page is about. */
  path: string | null;
  /** That flow, when it is open. */
  flow: FlowDocument | null;
  theme: Theme;
  onTheme: () => void;
  onHelp: () => void;
  onRun: () => void;
}

const THEME: Record<Theme, { icon: IconName; label: string }> = {
  system: { icon: "system", label: "Theme: as the system" },
  light: { icon: "sun", label: "Theme: light" },
  dark: { icon: "moon", label: "Theme: dark" },
};

export function TopBar({ session, route, path, flow, theme, onTheme, onHelp, onRun }: TopBarProps) {
  return (
    <header className="top-bar">
      <a className="mark" href={address({ page: "files" })} aria-label="Stave: all flows">
        <img src="/favicon.svg" alt="" width={22} height={22} />
        <span className="wide-only">Stave</span>
      </a>
      {flow !== null && <FlowName flow={flow} />}
      <nav aria-label="Pages">
        {path !== null && (
          <>
            <Link route={{ page: "flow", path }} icon="graph" title="Flow" current={route.page === "flow"} />
            <Link route={{ page: "lines", path }} icon="lines" title="Lines" current={route.page === "lines"} />
          </>
        )}
        <Link
          route={{ page: "runs" }}
          icon="play"
          title="Runs"
          current={route.page === "runs" || route.page === "run" || route.page === "compare"}
        />
        <Link route={{ page: "gateway" }} icon="gateway" title="Gateway" current={route.page === "gateway"} />
      </nav>
      <span className="grow" />
      {session.tenant !== null && <span className="badge wide-only">{session.tenant}</span>}
      {flow !== null && !session.read_only && <UndoRedo flow={flow} />}
      <span className="wide-only">
        <IconButton icon={THEME[theme].icon} label={THEME[theme].label} onClick={onTheme} />
      </span>
      <IconButton icon="help" label="Keys" keys="?" onClick={onHelp} />
      {flow !== null && (
        <Button look="primary" icon="play" onClick={onRun} title="Run the flow (Ctrl Enter)">
          Run
        </Button>
      )}
    </header>
  );
}

function FlowName({ flow }: { flow: FlowDocument }) {
  const name = useStore(flow.store, (state) => state.analysis?.flow?.name ?? state.path);
  return <span className="flow-name clip">{name}</span>;
}

function UndoRedo({ flow }: { flow: FlowDocument }) {
  const history = useStore(flow.store, (state) => state.history);
  const next = history.future[0];
  return (
    <>
      <IconButton
        icon="undo"
        label={history.past.length === 0 ? "Undo" : `Undo: ${history.present.label}`}
        disabled={history.past.length === 0}
        onClick={() => flow.undo()}
      />
      <IconButton
        icon="redo"
        label={next === undefined ? "Redo" : `Redo: ${next.label}`}
        disabled={next === undefined}
        onClick={() => flow.redo()}
      />
    </>
  );
}

function Link({ route, icon, title, current }: { route: Route; icon: IconName; title: string; current: boolean }) {
  return (
    <a className="nav-link" href={address(route)} aria-current={current ? "page" : undefined} title={title}>
      <Icon name={icon} />
      <span>{title}</span>
    </a>
  );
}
