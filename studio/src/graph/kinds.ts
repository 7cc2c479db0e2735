// How each kind of node looks: a colour and an icon.
import type { GraphNode, PortType } from "../api/contract";
import type { IconName } from "../design/Icon";

export interface Look {
  icon: IconName;
  /** The class that sets the colour. */
  tone: "model" | "code" | "data" | "http" | "person" | "end";
}

export function lookOf(node: Pick<GraphNode, "kind" | "op">): Look {
  switch (node.kind) {
    case "prompt":
      return { icon: "model", tone: "model" };
    case "code":
      return { icon: "code", tone: "code" };
    case "input":
    case "output":
      return { icon: "end", tone: "end" };
    case "op":
      return lookOfOperation(node.op ?? "");
    case "other":
      return { icon: "data", tone: "end" };
  }
}

function lookOfOperation(op: string): Look {
  const family = op.split(".")[0];
  if (family === "http") return { icon: "http", tone: "http" };
  if (family === "human") return { icon: "person", tone: "person" };
  if (family === "mcp") return { icon: "tool", tone: "http" };
  return { icon: family === "hopsworks" ? "data" : "system", tone: "data" };
}

/** Types that go together have one colour. */
export function typeFamily(type: PortType | null): "text" | "number" | "boolean" | "object" | "list" | "any" {
  switch (type) {
    case "string":
    case "document":
      return "text";
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "object":
    case "table":
      return "object";
    case "array":
    case "embedding":
      return "list";
    case null:
      return "any";
  }
}
