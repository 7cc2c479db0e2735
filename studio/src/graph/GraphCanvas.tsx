// The canvas: nodes and edges of a graph, moved about, selected and drawn by pointer or by keys.
//
// It knows nothing of files: what a person does is passed to `edit`, and the graph that comes back is drawn.
import {
  applyEdgeChanges,
  applyNodeChanges,
  Background,
  BackgroundVariant,
  MiniMap,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore as useFlowStore,
  type Connection,
  type EdgeChange,
  type FinalConnectionState,
  type NodeChange,
  type OnConnectStartParams,
  type ReactFlowInstance,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { use, useCallback, useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import type { Graph, Point } from "../api/contract";
import { IconButton } from "../design/Button";
import { useUpright } from "../design/width";
import { ConnectingContext, IDLE } from "./connecting";
import { DrawnEdge } from "./DrawnEdge";
import { edgesOf, nodesOf, type CanvasEdge, type CanvasNode, type RunOverlay } from "./elements";
import { FlowEdge } from "./FlowEdge";
import { NODE_WIDTH, toFile } from "./geometry";
import "./graph.css";
import type { Direction } from "./layout";
import { focusNode, isArrow, nearest, neighbour } from "./navigation";
import { portOf } from "./names";
import { NodeCard } from "./NodeCard";

const NODE_TYPES = { flow: NodeCard };
const EDGE_TYPES = { flow: FlowEdge };
const MANY = 300;
const STEP = 10;
const READABLE = 0.5;
/** On a slim screen, below what is at the top. */
const ROOM = { top: 56, side: 12 };
const FIT = { padding: 0.06, minZoom: 0.05, maxZoom: 1.3 };
const MAP = { width: 140, height: 90 };

export interface Moved {
  node: string;
  to: Point;
}

/** What can be done to a graph. */
export interface GraphEditing {
  move: (moved: Moved[]) => void;
  remove: (nodes: string[], edges: { from: string; to: string }[]) => void;
  connect: (from: string, to: string) => void;
  startDrawing: (from: string) => void;
  /** An edge was let go over nothing. */
  dropped: (from: string, at: Point | null) => void;
  refused: (reason: string) => void;
  arrange: () => void;
}

export interface GraphCanvasProps {
  graph: Graph;
  label: string;
  overlay?: RunOverlay | null;
  selected: readonly string[];
  onSelect: (nodes: string[]) => void;
  onOpen: (node: string) => void;
  editing?: GraphEditing | null;
  tools?: ReactNode;
}

export function GraphCanvas(props: GraphCanvasProps) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}

const isFar = (state: { transform: [number, number, number] }) => state.transform[2] < 0.62;

function Canvas({ graph, label, overlay = null, selected, onSelect, onOpen, editing = null, tools }: GraphCanvasProps) {
  const editable = editing !== null;
  const direction: Direction = useUpright() ? "down" : "right";
  const { nodes, edges, setNodes, setEdges } = useElements(graph, overlay, editable, direction, selected);
  const flow = useReactFlow<CanvasNode, CanvasEdge>();
  const far = useFlowStore(isFar);
  const connecting = use(ConnectingContext);
  const frame = useRef<HTMLDivElement>(null);

  // The whole is kept in view while panes are moved about, until a person chooses another part.
  const moved = useRef(false);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      if (!moved.current && element.clientWidth > 0) void showWhole(flow, element, direction);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [flow, direction]);

  const onNodesChange = useCallback(
    (changes: NodeChange<CanvasNode>[]) => {
      const next = applyNodeChanges(changes, nodes);
      setNodes(next);
      if (changes.some((change) => change.type === "select")) {
        onSelect(next.filter((node) => node.selected).map((node) => node.id));
      }
    },
    [nodes, setNodes, onSelect],
  );
  const onEdgesChange = useCallback(
    (changes: EdgeChange<CanvasEdge>[]) => setEdges((current) => applyEdgeChanges(changes, current)),
    [setEdges],
  );

  const begin = (_: unknown, { nodeId, handleId }: OnConnectStartParams) => {
    const from = nodeId === null ? null : end(nodeId, portOf(handleId));
    if (from !== null) editing?.startDrawing(from);
  };
  const isValid = (connection: Connection | CanvasEdge) => {
    const { targets } = connecting.state;
    if (targets.size === 0) return true;
    return targets.get(end(connection.target, portOf(connection.targetHandle)))?.allowed ?? false;
  };
  const connect = (connection: Connection) => {
    const from = end(connection.source, portOf(connection.sourceHandle));
    editing?.connect(from, end(connection.target, portOf(connection.targetHandle)));
  };
  const finish = (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
    const { from, targets } = connecting.state;
    connecting.update(IDLE);
    if (from === null || state.isValid === true) return;
    if (state.toNode !== null && state.toHandle !== null) {
      const target = targets.get(end(state.toNode.id, portOf(state.toHandle.id)));
      if (target !== undefined && !target.allowed) editing?.refused(target.reason ?? "It cannot be connected.");
    } else if (state.toNode === null) {
      const at = "changedTouches" in event ? event.changedTouches[0] : event;
      if (at !== undefined) editing?.dropped(from, placeAt(at));
    }
  };

  // Where a node goes in the file, when it was let go here; a flow that is drawn from top to bottom cannot say.
  const placeAt = (at: { clientX: number; clientY: number }) =>
    direction === "down" ? null : flow.screenToFlowPosition({ x: at.clientX, y: at.clientY });

  // Only the selected node can have the focus, and it is selected by this very click: the keys are its own from here on.
  const takeFocus = (id: string) => void requestAnimationFrame(() => focusNode(frame.current, id));

  const go = (id: string) => {
    onSelect([id]);
    requestAnimationFrame(() => {
      const element = focusNode(frame.current, id);
      if (element !== null && isOutside(element, frame.current)) {
        const node = flow.getNode(id);
        const zoom = flow.getZoom();
        if (node !== undefined) void flow.setCenter(node.position.x + NODE_WIDTH / 2, node.position.y + 50, { zoom, duration: 120 });
      }
    });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLElement && event.target.closest("input, textarea, select, dialog, .panel")) return;
    if (event.altKey || event.metaKey || event.ctrlKey) return;
    const current = selected.at(-1) ?? focusedNode(event.target);
    if (isArrow(event.key)) {
      event.preventDefault();
      if (event.shiftKey) shift(event.key);
      else {
        const placed = nodes.map((node) => ({ id: node.id, ...node.position }));
        const next = neighbour(placed, current ?? "", event.key);
        if (next !== null) go(next);
      }
    } else if (event.key === "Enter" && current !== undefined) {
      event.preventDefault();
      onOpen(current);
    } else if (event.key === "Escape") {
      onSelect([]);
    } else if ((event.key === "Delete" || event.key === "Backspace") && editing !== null) {
      const gone = nodes.filter((node) => node.selected === true && node.deletable !== false);
      const cut = edges.filter((edge) => edge.selected === true).flatMap((edge) => edge.data?.edge.written ?? []);
      if (gone.length + cut.length === 0) return;
      const left = nodes.filter((node) => !gone.includes(node)).map((node) => ({ id: node.id, ...node.position }));
      const start = gone[0];
      editing.remove(gone.map((node) => node.id), cut);
      // The focus stays in the graph: it goes to what is nearest.
      if (start !== undefined) go(nearest(left, start.position) ?? "");
    }
  };

  const shift = (arrow: string) => {
    const by = { x: arrow === "ArrowLeft" ? -STEP : arrow === "ArrowRight" ? STEP : 0, y: 0 };
    by.y = arrow === "ArrowUp" ? -STEP : arrow === "ArrowDown" ? STEP : 0;
    const moved = nodes
      .filter((node) => node.selected === true && node.draggable !== false)
      .map((node) => {
        const at = toFile(node.position);
        return { node: node.id, to: { x: at.x + by.x, y: at.y + by.y } };
      });
    if (moved.length > 0) editing?.move(moved);
  };

  return (
    <div className={`canvas${far ? " far" : ""}`} ref={frame} onKeyDown={onKeyDown} role="group" aria-label={label}>
      <ReactFlow<CanvasNode, CanvasEdge>
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodesChange={onNodesChange}
        onEdgesChange={onEdgesChange}
        onNodeClick={(_, node) => takeFocus(node.id)}
        onNodeDragStop={(_, dragged, moved) => {
          takeFocus(dragged.id);
          editing?.move(moved.map((node) => ({ node: node.id, to: toFile(node.position) })));
        }}
        onNodeDoubleClick={(_, node) => onOpen(node.id)}
        onConnectStart={begin}
        onConnect={connect}
        onConnectEnd={finish}
        isValidConnection={isValid}
        connectionLineComponent={DrawnEdge}
        connectionRadius={24}
        nodesConnectable={editable}
        nodesDraggable={editable}
        nodeDragThreshold={3}
        elevateNodesOnSelect
        disableKeyboardA11y
        deleteKeyCode={null}
        minZoom={0.05}
        maxZoom={2}
        fitView
        onInit={(instance) => {
          if (frame.current !== null) void showWhole(instance, frame.current, direction);
        }}
        fitViewOptions={FIT}
        onMoveStart={(event) => {
          if (event !== null) moved.current = true;
        }}
        onlyRenderVisibleElements={nodes.length > MANY}
        proOptions={{ hideAttribution: true }}
      >
        <Background variant={BackgroundVariant.Dots} gap={20} size={1} />
        {direction === "right" && <MiniMap pannable zoomable ariaLabel="Map of the flow" nodeClassName={mapClass} style={MAP} />}
        <Panel position="bottom-left" className="panel zooming">
          <IconButton icon="add" label="Zoom in" onClick={() => void flow.zoomIn()} />
          <IconButton icon="less" label="Zoom out" onClick={() => void flow.zoomOut()} />
          <IconButton icon="fit" label="Fit the view" onClick={() => frame.current !== null && void showWhole(flow, frame.current, direction, 150)} />
          {editing !== null && direction === "right" && <IconButton icon="arrange" label="Arrange all nodes" onClick={editing.arrange} />}
        </Panel>
        {tools !== undefined && (
          <Panel position="top-left" className="panel">
            {tools}
          </Panel>
        )}
      </ReactFlow>
    </div>
  );
}

function end(node: string, port: string | null): string {
  return port === null || port === "" ? node : `${node}.${port}`;
}

function focusedNode(target: EventTarget): string | undefined {
  const element = target instanceof Element ? target.closest<HTMLElement>(".react-flow__node") : null;
  return element?.dataset.id;
}

function mapClass(node: CanvasNode): string {
  return node.data.run === null ? `kind-${node.data.node.kind}` : `status-${node.data.run.status}`;
}

function isOutside(element: Element, frame: Element | null): boolean {
  if (frame === null) return false;
  const [inner, outer] = [element.getBoundingClientRect(), frame.getBoundingClientRect()];
  return inner.left < outer.left || inner.right > outer.right || inner.top < outer.top || inner.bottom > outer.bottom;
}

/** What the elements were made from. */
interface Seen {
  graph: Graph | null;
  overlay: RunOverlay | null;
  direction: Direction;
  selected: readonly string[];
}

/** Shows all of a flow, or where that would be too small to read, its beginning. */
function showWhole(
  flow: ReactFlowInstance<CanvasNode, CanvasEdge>,
  frame: Element,
  direction: Direction,
  duration = 0,
): Promise<boolean> {
  const bounds = flow.getNodesBounds(flow.getNodes());
  if (direction === "right" || bounds.width === 0) return flow.fitView({ ...FIT, duration });
  const wide = (frame.clientWidth - 2 * ROOM.side) / bounds.width;
  const tall = (frame.clientHeight - ROOM.top - ROOM.side) / bounds.height;
  if (Math.min(wide, tall) >= READABLE) {
    const [top, side] = [`${ROOM.top}px`, `${ROOM.side}px`] as const;
    return flow.fitView({ ...FIT, duration, padding: { top, right: side, bottom: side, left: side } });
  }
  const zoom = Math.min(Math.max(wide, READABLE), 1);
  const x = frame.clientWidth / 2 - (bounds.x + bounds.width / 2) * zoom;
  return flow.setViewport({ x, y: ROOM.top - bounds.y * zoom, zoom }, { duration });
}

/** The drawn elements. They follow the graph, and between two graphs the pointer. */
function useElements(
  graph: Graph,
  overlay: RunOverlay | null,
  editable: boolean,
  direction: Direction,
  selected: readonly string[],
) {
  const [nodes, setNodes] = useState<CanvasNode[]>([]);
  const [edges, setEdges] = useState<CanvasEdge[]>([]);
  const [seen, setSeen] = useState<Seen>({ graph: null, overlay: null, direction, selected: [] });
  const isSeen = seen.graph === graph && seen.overlay === overlay && seen.direction === direction;
  if (!isSeen || seen.selected !== selected) {
    setSeen({ graph, overlay, direction, selected });
    const drawn = nodesOf(graph, overlay, editable, direction, nodes);
    // One node takes part in the order of focus: the one that is selected, or the first.
    const stop = selected.at(-1) ?? graph.nodes[0]?.id;
    const chosen = new Set(selected);
    setNodes(drawn.map((node) => marked(node, chosen.has(node.id), node.id === stop)));
    setEdges(edgesOf(graph, overlay, direction, edges));
  }
  return { nodes, edges, setNodes, setEdges };
}

function marked(node: CanvasNode, selected: boolean, focusable: boolean): CanvasNode {
  if ((node.selected ?? false) === selected && node.focusable === focusable) return node;
  return { ...node, selected, focusable };
}
