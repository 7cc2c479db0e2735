import { describe, expect, it } from "vitest";
import { NODE_WIDTH, nodeHeight } from "./geometry";
import { arrange, type Direction } from "./layout";
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

  it("leads down on a slim screen, never more than two nodes abreast", () => {
    const middle = ["a", "b", "c", "d", "e"];
    const edges = middle.flatMap((id) => [edge("_input", id), edge(id, "_output")]);
    const places = arrange(graph([node("_input"), ...middle.map((id) => node(id)), node("_output")], edges), "down");
    const abreast = [...places.values()].map((place) => [...places.values()].filter((other) => other.y === place.y).length);
    expect(Math.max(...abreast)).toBe(2);
    const y = (id: string) => places.get(id)?.y ?? NaN;
    for (const id of middle) {
      expect(y("_input")).toBeLessThan(y(id));
      expect(y(id)).toBeLessThan(y("_output"));
    }
  });

  it.each<Direction>(["right", "down"])("lets no two of two hundred nodes overlap when it leads %s", (direction) => {
    const nodes = Array.from({ length: 200 }, (_, index) => node(`n${index}`, ["a", "b"].slice(index % 2), ["b"]));
    const edges = nodes.slice(1).map((target, index) => edge(`n${Math.floor((index * 7) % (index + 1))}`, target.id));
    const places = arrange(graph(nodes, edges), direction);
    expect(arrange(graph(nodes, edges), direction)).toEqual(places);
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
