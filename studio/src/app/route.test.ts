import { expect, it } from "vitest";
import { address, parseRoute, type Route } from "./route";

it("an address leads to the route it was made from", () => {
  const routes: Route[] = [
    { page: "files" },
    { page: "flow", path: "flows/a b.yaml", line: 3, column: 7 },
    { page: "flow", path: "flows/x&y.yaml" },
    { page: "lines", path: "flows/a.yaml" },
    { page: "runs" },
    { page: "runs", flow: "support" },
    { page: "run", id: "run_1", node: "answer" },
    { page: "compare", a: "run_1", b: "run_2" },
    { page: "gateway" },
  ];
  for (const route of routes) expect(parseRoute(address(route))).toEqual(route);
});

it("an address that makes no sense leads to the files", () => {
  for (const hash of ["", "#", "#/nowhere", "#/flow", "#/flow?path="]) expect(parseRoute(hash)).toEqual({ page: "files" });
  expect(parseRoute("#/flow?path=a&line=x&column=-1")).toEqual({ page: "flow", path: "a" });
});
