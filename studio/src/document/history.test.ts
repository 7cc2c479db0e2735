import { describe, expect, it } from "vitest";
import { begin, record, redo, undo } from "./history";

const typed = (text: string, at: number) => ({ text, label: "Typing", at, typed: true });
const edit = (text: string, at = 0) => ({ text, label: "Edit", at, typed: false });

describe("the history of a text", () => {
  it("restores what was there and what came after", () => {
    const history = record(record(begin("a"), edit("b")), edit("c"));
    const back = undo(undo(history));
    expect(back.present.text).toBe("a");
    expect(undo(back)).toBe(back);
    expect(redo(redo(back)).present.text).toBe("c");
  });

  it("takes typing in one go as one change, and the first stroke as a change", () => {
    const history = [typed("ab", 100), typed("abc", 300), typed("abcd", 5000)].reduce(record, begin("a"));
    expect(history.past.map((entry) => entry.text)).toEqual(["a", "abc"]);
  });

  it("forgets what was undone once something else is done", () => {
    const history = record(undo(record(begin("a"), edit("b"))), edit("c"));
    expect(history.future).toEqual([]);
    expect(undo(history).present.text).toBe("a");
  });

  it("does not merge typing into an entry that was gone back to", () => {
    const history = undo([typed("ab", 100), typed("abc", 5000)].reduce(record, begin("a")));
    expect(record(history, typed("abX", 5100)).past.at(-1)?.text).toBe("ab");
  });

  it("records nothing when nothing changed, and keeps a bound", () => {
    const start = begin("a");
    expect(record(start, edit("a"))).toBe(start);
    let long = start;
    for (let step = 0; step < 500; step += 1) long = record(long, edit(`t${step}`));
    expect(long.past.length).toBe(200);
  });
});
