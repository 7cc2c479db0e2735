// The same flow as flow, system and exec, beside each other, with what belongs together marked in all three.
import { useCallback, useMemo, useState } from "react";
import { api } from "../api/client";
import { Problem } from "../api/problem";
import type { Lines, Part } from "../api/contract";
import { useLoaded } from "../app/loading";
import { address } from "../app/route";
import { Empty, Failed, Loading } from "../design/States";
import { Tabs } from "../design/Tabs";
import { useWidth } from "../design/width";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import { Facts } from "./Facts";
import "./lines.css";
import { partAt, stretches, type Line } from "./parts";
import { PartText } from "./PartText";

type Tab = "lines" | "facts" | "bundle" | "manifest";

export default function LinesPage({ document }: { document: FlowDocument }) {
  const path = useStore(document.store, (state) => state.path);
  const text = useStore(document.store, (state) => state.text);
  const load = useCallback(() => api.lines({ path, text }), [path, text]);
  const { value: lines, error, reload } = useLoaded(load);
  const [tab, setTab] = useState<Tab>("lines");
  if (error instanceof Problem && error.kind === "invalid-flow") return <Invalid path={path} problem={error} />;
  if (error !== null) return <Failed error={error} retry={reload} />;
  if (lines === null) return <Loading what="Lowering the flow" />;
  return (
    <div className="lines-page">
      <div className="tab-bar">
        <Tabs
          label="What the flow becomes"
          tabs={[
            { id: "lines", title: "Flow, system, exec" },
            { id: "facts", title: "Effects and contracts" },
            { id: "bundle", title: "Bundle" },
            { id: "manifest", title: "Manifest" },
          ]}
          current={tab}
          onChange={setTab}
        />
      </div>
      <div className="view">
        {tab === "lines" && <SideBySide lines={lines} />}
        {tab === "facts" && <Facts facts={lines.facts} />}
        {tab === "bundle" && <PartText key="bundle" label="Runtime bundle" text={lines.bundle.text} marked={NOTHING} />}
        {tab === "manifest" && <PartText key="manifest" label="Manifest" text={lines.manifest.text} marked={NOTHING} />}
      </div>
    </div>
  );
}

const NOTHING: [] = [];

function Invalid({ path, problem }: { path: string; problem: Problem }) {
  return (
    <Empty title="The flow has errors">
      <p>It is lowered once it has none.</p>
      <ul>
        {(problem.body.diagnostics ?? []).slice(0, 8).map((finding) => (
          <li key={finding.code + String(finding.offset)}>
            <a href={address({ page: "flow", path, line: finding.line, column: finding.column })}>
              {finding.line}:{finding.column}
            </a>{" "}
            {finding.message}
          </li>
        ))}
      </ul>
    </Empty>
  );
}

const TITLES: Record<Line, { title: string; asks: string }> = {
  flow: { title: "flow", asks: "What did the author write?" },
  system: { title: "system", asks: "What is it, whose, and what may it touch?" },
  exec: { title: "exec", asks: "What runs, in what order, under which policy?" },
};
const ORDER: Line[] = ["flow", "system", "exec"];

interface Looked {
  part: Part;
  /** The line in which the pointer is; the others move to the part. */
  from: Line | null;
}

function SideBySide({ lines }: { lines: Lines }) {
  const [hovered, setHovered] = useState<Looked | null>(null);
  const [pinned, setPinned] = useState<Looked | null>(null);
  const [shown, setShown] = useState<Line>("flow");
  const narrow = useWidth() === "narrow";
  const looked = hovered ?? pinned;
  const listed = useMemo(() => lines.parts.filter((part) => part.kind !== "edge"), [lines]);

  const onOffset = (line: Line) => (offset: number | null, pin: boolean) => {
    const part = offset === null ? null : partAt(lines.parts, line, offset);
    if (pin) setPinned(part === null ? null : { part, from: line });
    else if (part?.id !== hovered?.part.id) setHovered(part === null ? null : { part, from: line });
  };

  return (
    <div className="column">
      <div className="part-bar">
        <label className="row">
          <span className="faint">Part</span>
          <select
            className="field"
            value={pinned?.part.id ?? ""}
            onChange={(event) => {
              const part = lines.parts.find((each) => each.id === event.target.value);
              setPinned(part === undefined ? null : { part, from: null });
            }}
          >
            <option value="">none</option>
            {listed.map((part) => (
              <option key={part.id} value={part.id}>
                {part.kind}: {part.title}
              </option>
            ))}
          </select>
        </label>
        <span className="soft clip" role="status">
          {looked === null ? "Point at a part to see it in all lines; click to keep it." : `${looked.part.kind}: ${looked.part.title}`}
        </span>
      </div>
      {narrow && (
        <div className="tab-bar">
          <Tabs
            label="Line"
            tabs={ORDER.map((line) => ({ id: line, title: TITLES[line].title }))}
            current={shown}
            onChange={setShown}
          />
        </div>
      )}
      <div className="three">
        {ORDER.filter((line) => !narrow || line === shown).map((line) => (
          <section key={line} aria-label={TITLES[line].title}>
            <header>
              <h2>{TITLES[line].title}</h2>
              <span className="faint clip">{TITLES[line].asks}</span>
            </header>
            <LineText
              line={line}
              text={lines[line].text}
              part={looked?.part ?? null}
              follow={looked !== null && looked.from !== line}
              onOffset={onOffset(line)}
            />
          </section>
        ))}
      </div>
    </div>
  );
}

interface LineTextProps {
  line: Line;
  text: string;
  part: Part | null;
  follow: boolean;
  onOffset: (offset: number | null, pin: boolean) => void;
}

function LineText({ line, text, part, follow, onOffset }: LineTextProps) {
  const marked = useMemo(() => (part === null ? NOTHING : stretches(part[line])), [part, line]);
  return <PartText label={`${line} of the flow`} text={text} marked={marked} follow={follow} onOffset={onOffset} />;
}
