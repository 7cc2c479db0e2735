// The graph of the open flow, editable: every gesture becomes an edit command that keeps comments and layout.
import { useMemo, useState, type KeyboardEvent } from "react";
import { api } from "../api/client";
import type { Command, Json, PaletteItem, Point } from "../api/contract";
import { Button } from "../design/Button";
import { Empty, Loading } from "../design/States";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import { ConnectDialog } from "./ConnectDialog";
import { ConnectingContext, newConnecting } from "./connecting";
import { NODE_WIDTH, toFile } from "./geometry";
import { GraphCanvas, type GraphEditing } from "./GraphCanvas";
import { arrange } from "./layout";
import { freeId } from "./names";
import { focusNode } from "./navigation";
import { NodePanel } from "./NodePanel";
import { placesOf } from "./elements";
import { Palette } from "./Palette";

interface FlowGraphProps {
  document: FlowDocument;
  readOnly: boolean;
}

type Open =
  | { dialog: "none" }
  | { dialog: "palette"; from: string | null; at: Point | null }
  | { dialog: "connect"; node: string };

export function FlowGraph({ document, readOnly }: FlowGraphProps) {
  const graph = useStore(document.store, (state) => state.graph);
  const selected = useStore(document.store, (state) => state.selected);
  const unreadable = useStore(document.store, (state) => state.analysis !== null && state.analysis.graph === null);
  const [connecting] = useState(newConnecting);
  const [open, setOpen] = useState<Open>({ dialog: "none" });
  const [renaming, setRenaming] = useState(false);
  const close = () => setOpen({ dialog: "none" });

  const editing = useMemo<GraphEditing | null>(() => {
    if (readOnly) return null;
    return {
      move: (moved) => void document.edit(moved.length === 1 ? `Move ${moved[0]?.node ?? ""}` : "Move nodes", moves(moved)),
      remove: (nodes, edges) => void document.edit("Delete", removals(nodes, edges)),
      connect: (from, to) => void document.edit(`Connect ${from} to ${to}`, [{ op: "connect", from, to }]),
      startDrawing: (from) => {
        connecting.update({ from, targets: new Map() });
        void api.connectable(document.subject, from).then(
          (targets) => {
            if (connecting.state.from !== from) return;
            connecting.update({ targets: new Map(targets.map((target) => [target.to, target])) });
          },
          () => undefined,
        );
      },
      dropped: (from, at) => setOpen({ dialog: "palette", from, at }),
      refused: (reason) => document.refuse({ message: `Not connected: ${reason}`, help: null, findings: [] }),
      arrange: () => {
        const { graph: current } = document.state;
        if (current === null) return;
        const places = [...arrange(current)].filter(([id]) => !id.startsWith("_"));
        void document.edit("Arrange", moves(places.map(([node, at]) => ({ node, to: toFile(at) }))));
      },
    };
  }, [document, readOnly, connecting]);

  if (graph === null) {
    if (!unreadable) return <Loading what="Reading the flow" />;
    return (
      <Empty title="This text is not a flow">
        <p>The problems below say what cannot be read. The graph appears as soon as it can.</p>
      </Empty>
    );
  }

  const node = graph.nodes.find((each) => each.id === selected.at(-1));
  const show = (id: string) => {
    const range = graph.nodes.find((each) => each.id === id)?.range;
    if (range !== null && range !== undefined) document.reveal(range.offset, range.offset, true);
  };

  const add = async (item: PaletteItem) => {
    if (open.dialog !== "palette") return;
    const { from, at } = open;
    close();
    const id = freeId(item.id_hint, new Set(graph.nodes.map((each) => each.id)));
    const place = at ?? besideSelected(graph, node?.id);
    const commands: Command[] = [{ op: "add_node", id, node: withPosition(item.node, toFile(place)) }];
    const done = await document.edit(`Add ${id}`, commands);
    if (!done) return;
    document.select([id]);
    requestAnimationFrame(() => focusNode(window.document, id));
    if (from !== null) await connectToFirst(document, from, id);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (readOnly || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLElement && event.target.closest("input, textarea, select, dialog")) return;
    const key = event.key.toLowerCase();
    if (key === "a") setOpen({ dialog: "palette", from: null, at: null });
    else if (key === "c" && node !== undefined) setOpen({ dialog: "connect", node: node.id });
    else if (event.key === "F2" && node !== undefined) setRenaming(true);
    else return;
    event.preventDefault();
  };

  const target = open.dialog === "connect" ? graph.nodes.find((each) => each.id === open.node) : undefined;
  return (
    <ConnectingContext value={connecting}>
      <div className="flow-graph" onKeyDown={onKeyDown}>
        <GraphCanvas
          graph={graph}
          label="Graph of the flow. Arrow keys go from node to node."
          selected={selected}
          onSelect={(nodes) => document.select(nodes)}
          onOpen={show}
          editing={editing}
          tools={
            readOnly ? undefined : (
              <Button look="quiet" icon="add" title="Add a node (A)" onClick={() => setOpen({ dialog: "palette", from: null, at: null })}>
                Add node
              </Button>
            )
          }
        />
        {node !== undefined && (
          <NodePanel
            key={node.id}
            document={document}
            node={node}
            readOnly={readOnly}
            renaming={renaming}
            onRenaming={setRenaming}
            onConnect={() => setOpen({ dialog: "connect", node: node.id })}
            onShow={() => show(node.id)}
          />
        )}
        {open.dialog === "palette" && <Palette onClose={close} onChoose={(item) => void add(item)} />}
        {target !== undefined && (
          <ConnectDialog
            subject={document.subject}
            node={target}
            onClose={close}
            onConnect={(from, to) => {
              close();
              editing?.connect(from, to);
            }}
          />
        )}
      </div>
    </ConnectingContext>
  );
}

function moves(moved: readonly { node: string; to: Point }[]): Command[] {
  return moved.map(({ node, to }) => ({ op: "set_position", node, x: to.x, y: to.y }));
}

function removals(nodes: readonly string[], edges: readonly { from: string; to: string }[]): Command[] {
  // The edges of a node go with it.
  const touches = (end: string) => nodes.some((node) => end === node || end.startsWith(`${node}.`));
  const cut = edges.filter((edge) => !touches(edge.from) && !touches(edge.to));
  return [
    ...cut.map((edge): Command => ({ op: "disconnect", ...edge })),
    ...nodes.map((id): Command => ({ op: "remove_node", id })),
  ];
}

function besideSelected(graph: Parameters<typeof placesOf>[0], selected: string | undefined): Point {
  const places = placesOf(graph);
  const anchor = selected === undefined ? undefined : places.get(selected);
  if (anchor !== undefined) return { x: anchor.x + NODE_WIDTH + 90, y: anchor.y };
  const lowest = Math.max(0, ...[...places.values()].map((place) => place.y));
  return { x: Math.min(...[...places.values()].map((place) => place.x)), y: lowest + 180 };
}

function withPosition(node: Record<string, Json>, position: Point): Record<string, Json> {
  return { ...node, position: { ...position } };
}

/** Takes the first input of a node that the checker allows. */
async function connectToFirst(document: FlowDocument, from: string, node: string): Promise<void> {
  const targets = await api.connectable(document.subject, from).catch(() => []);
  const target = targets.find((each) => each.allowed && (each.to === node || each.to.startsWith(`${node}.`)));
  if (target === undefined) {
    document.refuse({ message: `${from} fits no input of ${node}.`, help: null, findings: [] });
    return;
  }
  await document.edit(`Connect ${from} to ${target.to}`, [{ op: "connect", from, to: target.to }]);
}
