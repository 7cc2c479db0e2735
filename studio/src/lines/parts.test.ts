import { expect, it } from "vitest";
import type { Part } from "../api/contract";
import { partAt, stretches } from "./parts";

const range = (offset: number, end_offset: number) => ({
  offset,
  end_offset,
  line: 1,
  column: 1,
  end_line: 1,
  end_column: 1,
});

const parts: Part[] = [
  { id: "flow", kind: "flow", title: "flow", flow: [range(0, 100)], exec: [range(0, 50)], system: [] },
  { id: "node:a", kind: "node", title: "a", flow: [range(10, 20), range(60, 70)], exec: [], system: [] },
];

it("the smallest part around an offset is the one that is meant", () => {
  expect(partAt(parts, "flow", 15)?.id).toBe("node:a");
  expect(partAt(parts, "flow", 65)?.id).toBe("node:a");
  expect(partAt(parts, "flow", 40)?.id).toBe("flow");
  expect(partAt(parts, "system", 0)).toBeNull();
});

it("ranges become stretches", () => {
  expect(stretches([range(1, 2)])).toEqual([{ from: 1, to: 2 }]);
});
