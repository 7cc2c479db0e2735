import { describe, expect, it, vi } from "vitest";

vi.stubGlobal("sessionStorage", { getItem: () => null });
const { EventParser } = await import("./events");

describe("the parser of events", () => {
  it("waits until an event is whole", () => {
    const parser = new EventParser();
    expect(parser.push("id: 3\nevent: st")).toEqual([]);
    expect(parser.push('ep\ndata: {"node":"a"}\n\nid: 4\n')).toEqual([
      { id: "3", name: "step", data: '{"node":"a"}' },
    ]);
    expect(parser.push("data: x\r\n\r\n")).toEqual([{ id: "4", name: "message", data: "x" }]);
  });

  it("passes over comments and joins lines of data", () => {
    const parser = new EventParser();
    expect(parser.push(": still here\n\n")).toEqual([]);
    expect(parser.push("data: a\ndata: b\n\n")).toEqual([{ id: null, name: "message", data: "a\nb" }]);
  });
});
