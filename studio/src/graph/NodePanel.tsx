// What is known of the selected node, and what can be done with it.
import { useState, type SyntheticEvent } from "react";
import type { Graph, GraphNode, Port } from "../api/contract";
import { Button, IconButton } from "../design/Button";
import { Prose } from "../design/Prose";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import { END_PLACE, endText, idFault } from "./names";
import "./nodePanel.css";

interface NodePanelProps {
  document: FlowDocument;
  node: GraphNode;
  readOnly: boolean;
  renaming: boolean;
  onRenaming: (renaming: boolean) => void;
  onConnect: () => void;
  onShow: () => void;
}

export function NodePanel(props: NodePanelProps) {
  const { document, node, readOnly, renaming, onRenaming, onConnect, onShow } = props;
  const graph = useStore(document.store, (state) => state.graph);
  const diagnostics = useStore(document.store, (state) => state.analysis?.diagnostics);
  const findings = (diagnostics ?? []).filter((finding) => finding.node === node.id);
  const isEnd = node.kind === "input" || node.kind === "output";
  const canChange = !readOnly && !isEnd;
  return (
    <aside className="node-panel" aria-label={`Node ${node.id}`}>
      <header>
        {renaming && canChange ? (
          <Rename document={document} node={node} onDone={() => onRenaming(false)} />
        ) : (
          <h2 className="clip">{node.id}</h2>
        )}
        <IconButton icon="close" label="Close" small onClick={() => document.select([])} />
      </header>
      <div className="content scroll">
        <p className="soft">
          {node.subtitle}
          {node.effects && <span className="badge warn">changes things outside</span>}
          {node.state !== null && <span className="badge">state: {node.state}</span>}
          {node.tool_only && <span className="badge">tool only</span>}
        </p>
        {isEnd && <p className="faint">{END_PLACE}</p>}
        <div className="row wrap">
          {node.range !== null && (
            <Button small icon="text" onClick={onShow} title="Show its lines (Enter)">
              YAML
            </Button>
          )}
          {!readOnly && node.kind !== "output" && (
            <Button small icon="connect" onClick={onConnect} title="Connect (C)">
              Connect
            </Button>
          )}
          {canChange && (
            <>
              <Button small onClick={() => onRenaming(true)} title="Rename (F2)">
                Rename
              </Button>
              <Button
                small
                look="danger"
                icon="delete"
                title="Delete (Del)"
                onClick={() => void document.edit(`Delete ${node.id}`, [{ op: "remove_node", id: node.id }])}
              >
                Delete
              </Button>
            </>
          )}
        </div>
        <Ports title="Inputs" side="in" node={node} ports={node.inputs} graph={graph} document={document} readOnly={readOnly} />
        <Ports
          title="Outputs"
          side="out"
          node={node}
          ports={[...node.outputs, ...(node.error === null ? [] : [node.error])]}
          graph={graph}
          document={document}
          readOnly={readOnly}
        />
        {findings.length > 0 && (
          <section>
            <h3>Problems</h3>
            <ul className="stack">
              {findings.map((finding) => (
                <li key={`${finding.code}${finding.offset}`}>
                  <button
                    type="button"
                    className="finding-link"
                    onClick={() => document.reveal(finding.offset, finding.end_offset)}
                  >
                    <span className={`badge ${finding.severity === "error" ? "bad" : "warn"}`}>{finding.code}</span>
                    <Prose text={finding.message} />
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {canChange && (
          <div className="row wrap">
            {node.error === null && (
              <Button
                small
                onClick={() =>
                  void document.edit(`Handle errors of ${node.id}`, [{ op: "add_error_handling", node: node.id }])
                }
              >
                Add error handling
              </Button>
            )}
            <Button small onClick={() => void document.edit(`Cache ${node.id}`, [{ op: "add_caching", node: node.id }])}>
              Add caching
            </Button>
          </div>
        )}
      </div>
    </aside>
  );
}

function Rename({ document, node, onDone }: { document: FlowDocument; node: GraphNode; onDone: () => void }) {
  const [name, setName] = useState(node.id);
  const graph = useStore(document.store, (state) => state.graph);
  const others = new Set((graph?.nodes ?? []).map((each) => each.id).filter((id) => id !== node.id));
  const fault = idFault(name, others);
  const submit = async (event: SyntheticEvent) => {
    event.preventDefault();
    if (fault !== null) return;
    onDone();
    if (name === node.id) return;
    const done = await document.edit(`Rename ${node.id} to ${name}`, [{ op: "rename_node", from: node.id, to: name }]);
    if (done) document.select([name]);
  };
  return (
    <form className="grow" onSubmit={(event) => void submit(event)}>
      <input
        className="field"
        aria-label="Id of the node"
        aria-invalid={fault !== null}
        title={fault ?? "Enter renames it everywhere"}
        value={name}
        autoFocus
        spellCheck={false}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setName(event.target.value)}
        onBlur={onDone}
        onKeyDown={(event) => event.key === "Escape" && onDone()}
      />
    </form>
  );
}

interface PortsProps {
  title: string;
  side: "in" | "out";
  node: GraphNode;
  ports: Port[];
  graph: Graph | null;
  document: FlowDocument;
  readOnly: boolean;
}

function Ports({ title, side, node, ports, graph, document, readOnly }: PortsProps) {
  if (ports.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul className="port-list">
        {ports.map((port) => {
          const edges = (graph?.edges ?? []).filter((edge) => {
            const end = side === "in" ? edge.to : edge.from;
            return edge.kind === "data" && end.node === node.id && (end.port ?? "") === port.name;
          });
          return (
            <li key={port.name}>
              <div className="row">
                <code>{port.name === "" ? "whole response" : port.name}</code>
                <span className="faint">{port.type ?? "any"}</span>
                {port.optional && <span className="badge">optional</span>}
                {port.sensitivity !== null && port.sensitivity !== "public" && (
                  <span className="badge warn">{port.sensitivity}</span>
                )}
                {side === "in" && edges.length === 0 && !port.optional && node.kind !== "output" && (
                  <span className="badge warn">not connected</span>
                )}
              </div>
              {port.description !== null && <p className="faint">{port.description}</p>}
              {edges.map((edge) => (
                <div key={edge.id} className="edge-row">
                  <button
                    type="button"
                    className="link"
                    onClick={() => document.select([side === "in" ? edge.from.node : edge.to.node])}
                  >
                    {side === "in" ? `from ${endText(edge.from)}` : `to ${endText(edge.to)}`}
                  </button>
                  {edge.condition !== null && <code className="clip">if {edge.condition}</code>}
                  {!readOnly && edge.written !== null && (
                    <IconButton
                      icon="close"
                      small
                      label={`Disconnect ${edge.written.from} from ${edge.written.to}`}
                      onClick={() => {
                        if (edge.written === null) return;
                        void document.edit("Disconnect", [{ op: "disconnect", ...edge.written }]);
                      }}
                    />
                  )}
                </div>
              ))}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
