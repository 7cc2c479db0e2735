// The last line of the flow page: problems, the state of the file, the size of the flow.
import { Icon } from "../design/Icon";
import type { FlowDocument } from "../document/document";
import { counted } from "../document/findings";
import type { Saving } from "../document/saver";
import { useStore } from "../document/store";

const SAVING: Record<Saving, string> = {
  saved: "Saved",
  unsaved: "Not saved yet",
  saving: "Saving",
  failed: "Not saved",
  conflict: "Changed on disk",
  "read-only": "Read only",
};

interface StatusBarProps {
  document: FlowDocument;
  problemsShown: boolean;
  onProblems: () => void;
}

export function StatusBar({ document, problemsShown, onProblems }: StatusBarProps) {
  const summary = useStore(document.store, (state) => state.analysis?.summary ?? null);
  const unchecked = useStore(document.store, (state) => state.unchecked);
  const saving = useStore(document.store, (state) => state.saving);
  const path = useStore(document.store, (state) => state.path);
  const graph = useStore(document.store, (state) => state.graph);
  const tone = summary === null || unchecked !== null ? "" : summary.errors > 0 ? "bad" : summary.warnings > 0 ? "warn" : "good";
  return (
    <footer className="status-bar">
      <button type="button" className={`summary ${tone}`} aria-pressed={problemsShown} onClick={onProblems} title={unchecked ?? undefined}>
        <Icon name={tone === "bad" ? "error" : tone === "warn" ? "warning" : tone === "good" ? "check" : "info"} />
        {unchecked !== null ? "Not checked" : summary === null ? "Checking" : counted(summary)}
      </button>
      <span className="grow" />
      {graph !== null && (
        <span className="faint wide-only">
          {graph.nodes.length - 2} nodes, {graph.edges.length} edges
        </span>
      )}
      <code className="faint clip">{path}</code>
      <span role="status" className={saving === "failed" || saving === "conflict" ? "bad-text" : "faint"}>
        {SAVING[saving]}
      </span>
    </footer>
  );
}
