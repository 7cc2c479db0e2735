import { describe, expect, it } from "vitest";
import { NODE_WIDTH, nodeHeight } from "./geometry";
import { arrange } from "./layout";
import { edge, graph, node } from "./samples";

describe("the layout", () => {
  it("leads to the right and ends with the response", () => {
    const places = arrange(
      graph(
        [node("_output"), node("c"), node("a"), node("b"), node("_input")],
        [edge("_input", "a"), edge("a", "b"), edge("b", "c"), edge("a", "c"), edge("a", "_output")],
      ),
    );
    const x = (id: string) => places.get(id)?.x ?? NaN;
    expect(x("_input")).toBeLessThan(x("a"));
    expect(x("a")).toBeLessThan(x("b"));
    expect(x("b")).toBeLessThan(x("c"));
    expect(x("c")).toBeLessThan(x("_output"));
  });

  it("ends on a cycle and on edges to nowhere", () => {
    const places = arrange(graph([node("a"), node("b")], [edge("a", "b"), edge("b", "a"), edge("b", "gone")]));
    expect(places.size).toBe(2);
  });

  it("lets no two of two hundred nodes overlap, and is the same each time", () => {
    const nodes = Array.from({ length: 200 }, (_, index) => node(`n${index}`, ["a", "b"].slice(index % 2), ["b"]));
    const edges = nodes.slice(1).map((target, index) => edge(`n${Math.floor((index * 7) % (index + 1))}`, target.id));
    const places = arrange(graph(nodes, edges));
    expect(arrange(graph(nodes, edges))).toEqual(places);
    for (const left of nodes) {
      for (const right of nodes) {
        if (left.id >= right.id) continue;
        const [from, to] = [places.get(left.id), places.get(right.id)];
        if (from === undefined || to === undefined) throw new Error("every node has a place");
        const apart =
          Math.abs(from.x - to.x) >= NODE_WIDTH ||
          from.y + nodeHeight(left) <= to.y ||
          to.y + nodeHeight(right) <= from.y;
        expect(apart).toBe(true);
      }
    }
  });
});
