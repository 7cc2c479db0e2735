// The edge under the pointer while it is drawn: whether it may end there, and if not, why.
import { getBezierPath, useStore as useFlowStore, type ConnectionLineComponentProps } from "@xyflow/react";
import { use } from "react";
import { Prose } from "../design/Prose";
import { useStore } from "../document/store";
import { castText, ConnectingContext } from "./connecting";
import type { CanvasNode } from "./elements";
import { portOf } from "./names";

export function DrawnEdge(props: ConnectionLineComponentProps<CanvasNode>) {
  const { fromX, fromY, toX, toY, fromPosition, toPosition, toNode, toHandle } = props;
  const store = use(ConnectingContext);
  const zoom = useFlowStore((state) => state.transform[2]);
  const targets = useStore(store, (state) => state.targets);
  const [path] = getBezierPath({
    sourceX: fromX,
    sourceY: fromY,
    targetX: toX,
    targetY: toY,
    sourcePosition: fromPosition,
    targetPosition: toPosition,
  });
  const port = portOf(toHandle?.id);
  const end = toNode === null ? null : port === null || port === "" ? toNode.id : `${toNode.id}.${port}`;
  const target = end === null ? undefined : targets.get(end);
  const note = target === undefined ? null : (target.reason ?? castText(target.cast));
  const state = target === undefined ? "open" : target.allowed ? "allowed" : "refused";
  return (
    <g className={`drawn-edge ${state}`}>
      <path d={path} />
      <circle cx={toX} cy={toY} r={4} />
      {note !== null && (
        <foreignObject
          // The canvas may be small; what is said about it stays readable.
          transform={`translate(${toX} ${toY}) scale(${1 / zoom})`}
          x={12}
          y={8}
          width={300}
          height={90}
          className="drawn-note"
        >
          <div>
            <span role="status">
              <Prose text={note} />
            </span>
          </div>
        </foreignObject>
      )}
    </g>
  );
}
