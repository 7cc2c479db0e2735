// One node on the canvas: what it is, its ports, and in a run what came of it.
import { Handle, Position, type NodeProps } from "@xyflow/react";
import { Fragment, memo } from "react";
import type { GraphNode, NodeRun, Port } from "../api/contract";
import { Icon } from "../design/Icon";
import { duration } from "../run/amounts";
import { useFit } from "./connecting";
import type { CanvasNode, NodeData } from "./elements";
import { lookOf, typeFamily } from "./kinds";
import { END_PLACE, handleId } from "./names";

export const NodeCard = memo(function NodeCard({ data, selected }: NodeProps<CanvasNode>) {
  const { node, run, editable } = data;
  const look = lookOf(node);
  const status = run === null ? "" : ` status-${run.status}`;
  const faulty = node.errors > 0 ? " has-errors" : node.warnings > 0 ? " has-warnings" : "";
  return (
    <div className={`node tone-${look.tone}${selected ? " selected" : ""}${status}${faulty}`} title={standing(data)}>
      <header>
        <Icon name={look.icon} />
        <div className="names">
          <div className="id">{breakable(titleOf(node))}</div>
          <div className="what">{node.subtitle}</div>
        </div>
        <Marks node={node} run={run} />
      </header>
      <div className="ports">
        <div>
          {node.inputs.map((port) => (
            <PortRow key={port.name} node={node.id} port={port} side="in" editable={editable} />
          ))}
        </div>
        <div>
          {node.outputs.map((port) => (
            <PortRow key={port.name} node={node.id} port={port} side="out" editable={editable} />
          ))}
          {node.error !== null && (
            <PortRow node={node.id} port={node.error} side="out" editable={editable} isError />
          )}
        </div>
      </div>
      <NodeHandles node={node} />
    </div>
  );
});

/** The request and the response cannot be moved; a person who tries reads why. */
function standing({ node, editable }: NodeData): string | undefined {
  const isEnd = node.kind === "input" || node.kind === "output";
  return editable && isEnd ? END_PLACE : undefined;
}

function titleOf(node: GraphNode): string {
  if (node.kind === "input") return "Request";
  if (node.kind === "output") return "Response";
  return node.id;
}

/** A name may be broken after its underscores. */
function breakable(name: string) {
  return name.split(/(?<=_)/).map((part, index) => (
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function Marks({ node, run }: { node: GraphNode; run: NodeRun | null }) {
  return (
    <div className="marks">
      {node.state !== null && (
        <span title={`keeps state for the ${node.state}`}>
          <Icon name="state" />
        </span>
      )}
      {node.tool_only && (
        <span title="runs when a model calls it">
          <Icon name="tool" />
        </span>
      )}
      {node.errors + node.warnings > 0 && run === null && (
        <span className={node.errors > 0 ? "count bad" : "count warn"}>{node.errors + node.warnings}</span>
      )}
      {run !== null && run.duration_ms > 0 && <span className="time">{duration(run.duration_ms)}</span>}
    </div>
  );
}

interface PortRowProps {
  node: string;
  port: Port;
  side: "in" | "out";
  editable: boolean;
  isError?: boolean;
}

function PortRow({ node, port, side, editable, isError = false }: PortRowProps) {
  const end = port.name === "" ? node : `${node}.${port.name}`;
  const fit = useFit(end);
  const shown = side === "in" && fit !== "idle" ? ` fit-${fit}` : "";
  const family = isError ? "error" : typeFamily(port.type);
  const optional = port.optional ? ", optional" : "";
  const name = port.name === "" ? "whole response" : port.name;
  return (
    <div className={`port ${side}${shown}`} title={`${name}: ${port.type ?? "any type"}${optional}`}>
      <Handle
        id={handleId(side, port.name)}
        type={side === "in" ? "target" : "source"}
        position={side === "in" ? Position.Left : Position.Right}
        className={`family-${family}${port.connected ? " connected" : ""}`}
        isConnectable={editable}
      />
      <span className="port-name">
        {name}
        {port.optional && "?"}
      </span>
      {port.sensitivity === "restricted" && <Icon name="lock" />}
    </div>
  );
}

/** Where edges of tools begin and end: they belong to the node, not to a port. */
function NodeHandles({ node }: { node: GraphNode }) {
  return (
    <>
      {!node.outputs.some((port) => port.name === "") && (
        <Handle id={handleId("out", "")} type="source" position={Position.Bottom} className="whole" isConnectable={false} />
      )}
      {!node.inputs.some((port) => port.name === "") && (
        <Handle id={handleId("in", "")} type="target" position={Position.Top} className="whole" isConnectable={false} />
      )}
    </>
  );
}
