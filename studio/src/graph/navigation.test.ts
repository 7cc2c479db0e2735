import { expect, it } from "vitest";
import { isArrow, nearest, neighbour } from "./navigation";
import { freeId, idFault, endText, spoken } from "./names";
import { node } from "./samples";

const nodes = [
  { id: "a", x: 0, y: 0 },
  { id: "b", x: 300, y: 20 },
  { id: "c", x: 200, y: 400 },
  { id: "d", x: 10, y: 200 },
];

it("arrows go to the nearest node in their direction", () => {
  expect(neighbour(nodes, "a", "ArrowRight")).toBe("b");
  expect(neighbour(nodes, "a", "ArrowDown")).toBe("d");
  expect(neighbour(nodes, "b", "ArrowLeft")).toBe("a");
  expect(neighbour(nodes, "a", "ArrowLeft")).toBeNull();
  expect(neighbour(nodes, "gone", "ArrowUp")).toBe("a");
  expect(isArrow("Enter")).toBe(false);
  expect(nearest(nodes, { x: 190, y: 380 })).toBe("c");
  expect(nearest([], { x: 0, y: 0 })).toBeNull();
});

it("ids are free and well formed", () => {
  const taken = new Set(["http_get", "http_get_2"]);
  expect(freeId("http_get", taken)).toBe("http_get_3");
  expect(freeId("code", taken)).toBe("code");
  expect(idFault("Code", taken)).toMatch(/small letter/);
  expect(idFault("http_get", taken)).toMatch(/already/);
  expect(idFault("a_1", taken)).toBeNull();
});

it("an end without a port is the node", () => {
  expect(endText({ node: "a", port: "x" })).toBe("a.x");
  expect(endText({ node: "_output", port: "" })).toBe("_output");
});

it("a node is read out with its problems", () => {
  expect(spoken({ ...node("a"), subtitle: "http.get", errors: 2 })).toBe("a, http.get, 1 input, 1 output, 2 errors");
});
