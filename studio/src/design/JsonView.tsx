// A value as a tree that opens and closes. Texts are shown as they are, with their line ends.
import { useState } from "react";
import type { Json } from "../api/contract";
import "./jsonView.css";

const OPEN_DEPTH = 3;
const FIRST_ITEMS = 100;

export function JsonView({ value, label }: { value: Json; label: string }) {
  return (
    <div className="json" role="group" aria-label={label}>
      <Value value={value} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { value: Json; depth: number }) {
  if (value === null) return <span className="json-null">null</span>;
  if (typeof value === "string") return <span className="json-text">{JSON.stringify(value).includes("\\n") ? value : `"${value}"`}</span>;
  if (typeof value !== "object") return <span className="json-number">{String(value)}</span>;
  const entries: [string, Json][] = Array.isArray(value)
    ? value.map((item, index) => [String(index), item])
    : Object.entries(value);
  if (entries.length === 0) return <span className="faint">{Array.isArray(value) ? "[]" : "{}"}</span>;
  return <Entries entries={entries} isList={Array.isArray(value)} depth={depth} />;
}

function Entries({ entries, isList, depth }: { entries: [string, Json][]; isList: boolean; depth: number }) {
  const [all, setAll] = useState(false);
  const shown = all ? entries : entries.slice(0, FIRST_ITEMS);
  return (
    <details open={depth < OPEN_DEPTH}>
      <summary>{isList ? `list of ${entries.length}` : `${entries.length} ${entries.length === 1 ? "key" : "keys"}`}</summary>
      <ul>
        {shown.map(([key, item]) => (
          <li key={key}>
            <span className={isList ? "json-index" : "json-key"}>{key}</span>
            <Value value={item} depth={depth + 1} />
          </li>
        ))}
      </ul>
      {shown.length < entries.length && (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {entries.length}
        </button>
      )}
    </details>
  );
}
