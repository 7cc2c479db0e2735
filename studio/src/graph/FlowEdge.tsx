// One edge, with its condition where there is one.
import { BaseEdge, EdgeLabelRenderer, getBezierPath, Position, type EdgeProps } from "@xyflow/react";
import { memo } from "react";
import type { CanvasEdge } from "./elements";

export const FlowEdge = memo(function FlowEdge(props: EdgeProps<CanvasEdge>) {
  const { id, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition, data } = props;
  const isDown = data?.direction === "down";
  const [path, labelX, labelY] = getBezierPath({
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition: isDown ? Position.Bottom : sourcePosition,
    targetPosition: isDown ? Position.Top : targetPosition,
  });
  const edge = data?.edge;
  const label = edge === undefined ? null : labelOf(edge);
  return (
    <>
      <BaseEdge id={id} path={path} interactionWidth={14} />
      {label !== null && (
        <EdgeLabelRenderer>
          <div
            className="edge-label"
            style={{ transform: `translate(-50%, -50%) translate(${labelX}px, ${labelY}px)` }}
            title={label}
          >
            {label}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

function labelOf(edge: NonNullable<CanvasEdge["data"]>["edge"]): string | null {
  if (edge.condition !== null) return `if ${edge.condition}`;
  if (edge.transform !== null) return edge.transform;
  if (edge.kind === "each") return "for each";
  return null;
}
