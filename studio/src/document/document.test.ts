import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FlowDocument } from "./document";
import { relate, scopeOf, type Draft } from "./drafts";
import { FakeDrafts, FakeServer, hashOf, PATH, SCOPE } from "./fakes";
import { OpenDocuments } from "./openDocuments";

let drafts: FakeDrafts;

beforeEach(() => {
  vi.useFakeTimers();
  drafts = new FakeDrafts();
});

afterEach(() => {
  vi.useRealTimers();
});

function open(server: FakeServer, earlier: readonly Draft[] = []): FlowDocument {
  return new FlowDocument({ path: PATH, scope: SCOPE, readOnly: false, file: server.file, drafts: earlier }, server.ports(drafts));
}

/** Lets timers and promises proceed. */
const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

function draft(part: Partial<Draft>): Draft {
  return { id: "old", scope: SCOPE, path: PATH, text: "mine\n", base: hashOf("base\n"), sending: null, at: 5, ...part };
}

describe("saving", () => {
  it("writes what was typed after a moment, and keeps a draft until then", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("ab\n");
    expect(document.state.saving).toBe("unsaved");
    expect(drafts.texts).toEqual(["ab\n"]);
    await pass(1000);
    expect(server.disk).toBe("ab\n");
    expect(document.state.saving).toBe("saved");
    expect(drafts.texts).toEqual([]);
  });

  it("is tried again until the server is back, and says so meanwhile", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    server.isAway = true;
    document.type("ab\n");
    await pass(1000);
    expect(document.state.saving).toBe("failed");
    expect(document.state.failure).toEqual({ message: "The server cannot be reached.", retrying: true });
    expect(document.isUnsaved).toBe(true);
    document.type("abc\n");
    await pass(600_000);
    expect(document.state.saving).toBe("failed");
    expect(drafts.texts).toEqual(["abc\n"]);
    server.isAway = false;
    await pass(20_000);
    expect(server.disk).toBe("abc\n");
    expect(document.state.saving).toBe("saved");
    expect(document.state.failure).toBeNull();
    expect(drafts.texts).toEqual([]);
  });

  it("waits longer after each failure", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    server.status = 500;
    document.type("ab\n");
    await pass(10_000);
    expect(server.writes.length).toBeLessThan(8);
    await pass(60_000);
    expect(server.writes.length).toBeLessThan(14);
    server.status = null;
    await document.wake();
    expect(server.disk).toBe("ab\n");
  });

  it("asks a person when the same text would be refused again", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    server.status = 413;
    document.type("ab\n");
    await pass(60_000);
    expect(document.state.failure?.retrying).toBe(false);
    expect(server.writes).toHaveLength(1);
    server.status = null;
    document.type("abc\n");
    await pass(1000);
    expect(server.disk).toBe("abc\n");
  });

  it("has one request under way, and then sends what was typed meanwhile", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("ab\n");
    server.hold("writes");
    await pass(1000);
    document.type("abc\n");
    void document.save();
    await pass(5000);
    expect(server.writes).toEqual([]);
    server.release();
    await pass(2000);
    expect(server.writes).toEqual(["ab\n", "abc\n"]);
    expect(document.state.saving).toBe("saved");
  });

  it("counts a write whose answer was lost as saved", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    server.losesAnswers = true;
    document.type("ab\n");
    await pass(1000);
    expect(document.state.saving).toBe("failed");
    server.losesAnswers = false;
    await pass(5000);
    expect(document.state.saving).toBe("saved");
    expect(document.state.conflict).toBeNull();
  });

  it("keeps the line ends of the file", async () => {
    const server = new FakeServer("a\r\nb\r\n");
    const document = open(server);
    expect(document.state.text).toBe("a\nb\n");
    document.type("a\nc\n");
    await pass(1000);
    expect(server.disk).toBe("a\r\nc\r\n");
  });

  it("says when the browser cannot keep a draft", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    drafts.isFull = true;
    document.type("ab\n");
    await pass(10);
    expect(document.state.drafted).toBe(false);
  });

  it("writes nothing where files are only looked at", async () => {
    const server = new FakeServer("a\n");
    const document = new FlowDocument(
      { path: PATH, scope: SCOPE, readOnly: true, file: server.file, drafts: [draft({})] },
      server.ports(drafts),
    );
    document.type("b\n");
    await pass(5000);
    expect([server.disk, document.state.saving, document.isUnsaved]).toEqual(["a\n", "read-only", false]);
  });

  it("checks again what could not be checked while the server was away", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    await pass(10);
    server.isAway = true;
    document.type("ab\n");
    await pass(1000);
    expect(document.state.unchecked).toBe("The server cannot be reached.");
    expect(document.state.refusal).toBeNull();
    server.isAway = false;
    await pass(20_000);
    expect(document.state.unchecked).toBeNull();
    expect(document.state.analysis?.text_hash).toBe(hashOf("ab\n"));
  });
});

describe("a page that goes away", () => {
  it("sends the text, and stores it before it is gone", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("ab\n");
    document.flush();
    expect(drafts.texts).toEqual(["ab\n"]);
    await pass(0);
    expect(server.disk).toBe("ab\n");
  });

  it("stores which text was under way, so that its own save is no conflict for the next page", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("ab\n");
    server.hold("writes");
    await pass(1000);
    document.type("abc\n");
    document.flush();
    const [left] = [...drafts.kept.values()];
    expect(left).toMatchObject({ text: "abc\n", sending: "ab\n", base: hashOf("a\n") });
    if (left === undefined) throw new Error("there is no draft");
    const next = new FakeServer("ab\n");
    const again = open(next, [left]);
    expect(again.state.conflict).toBeNull();
    await pass(1000);
    expect(next.disk).toBe("abc\n");
  });

  it("leaves nothing behind when all is saved", () => {
    const document = open(new FakeServer("a\n"));
    document.flush();
    expect(drafts.texts).toEqual([]);
  });
});

describe("a draft of an earlier page", () => {
  it("comes back with a notice, is saved, and can be set aside", async () => {
    const server = new FakeServer("base\n");
    const document = open(server, [draft({})]);
    expect(document.state.text).toBe("mine\n");
    expect(document.state.restored).toEqual({ at: 5, before: "base\n" });
    await pass(1000);
    expect(server.disk).toBe("mine\n");
    document.acknowledge(false);
    await pass(1000);
    expect([server.disk, document.state.restored]).toEqual(["base\n", null]);
    document.undo();
    expect(document.state.text).toBe("mine\n");
  });

  it("is not offered when the file has its text", () => {
    drafts.keepNow(draft({}));
    const document = open(new FakeServer("mine\n"), [draft({})]);
    expect([document.state.restored, document.state.saving]).toEqual([null, "saved"]);
    expect(drafts.texts).toEqual([]);
  });

  it("is no conflict when the earlier page's last request arrives after this page began, and more was typed", async () => {
    const server = new FakeServer("base\n");
    const document = open(server, [draft({})]);
    server.disk = "mine\n";
    document.type("mine and more\n");
    const [left] = [...drafts.kept.values()];
    expect(relate(left ?? draft({}), server.file)).toBe("ahead");
    await pass(5000);
    expect([server.disk, document.state.saving]).toEqual(["mine and more\n", "saved"]);
    expect(drafts.texts).toEqual([]);
  });

  it("waits for a decision when the file changed, also over another reload", async () => {
    const server = new FakeServer("theirs\n");
    const document = open(server, [draft({})]);
    expect([document.state.saving, document.state.text]).toEqual(["conflict", "mine\n"]);
    await pass(60_000);
    await document.wake();
    expect([server.disk, document.state.saving]).toEqual(["theirs\n", "conflict"]);
    const [left] = [...drafts.kept.values()];
    expect(relate(left ?? draft({}), server.file)).toBe("conflict");
    await document.settle("mine");
    expect(server.disk).toBe("mine\n");
    expect(drafts.texts).toEqual([]);
  });

  it("of a file that is gone writes it again only when asked", async () => {
    const server = new FakeServer(null);
    const document = open(server, [draft({})]);
    await pass(60_000);
    await document.wake();
    expect([server.disk, document.state.saving]).toEqual([null, "conflict"]);
    await document.settle("mine");
    expect(server.disk).toBe("mine\n");
  });

  it("has its turn after the draft of another page", async () => {
    const server = new FakeServer("base\n");
    const document = open(server, [draft({ id: "newer", text: "one\n", at: 7 }), draft({ id: "older", text: "two\n", at: 6 })]);
    expect(document.state.text).toBe("one\n");
    await pass(1000);
    expect(server.disk).toBe("one\n");
    expect([document.state.saving, document.state.text]).toEqual(["conflict", "two\n"]);
    await document.settle("theirs");
    expect([document.state.saving, document.state.text, server.disk]).toEqual(["saved", "one\n", "one\n"]);
    expect(drafts.texts).toEqual([]);
  });

  it("belongs to a tenant and a project", () => {
    const projects = [{ id: "one" }, { id: "two" }];
    expect(scopeOf("acme", projects, "two/flows/a.yaml")).not.toBe(scopeOf("acme", projects, "one/flows/a.yaml"));
    expect(scopeOf("acme", [{ id: "one" }], PATH)).not.toBe(scopeOf("globex", [{ id: "one" }], PATH));
  });
});

describe("a file that changes on disk", () => {
  it("is followed where nothing was typed", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    server.disk = "b\r\n";
    await document.wake();
    expect([document.state.text, document.state.saving]).toEqual(["b\n", "saved"]);
    document.type("c\n");
    await pass(1000);
    expect(server.disk).toBe("c\r\n");
  });

  it("is not overwritten, and both texts stay within reach", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("mine\n");
    server.disk = "theirs\n";
    await pass(1000);
    expect([server.disk, document.state.saving]).toEqual(["theirs\n", "conflict"]);
    expect(document.state.conflict?.theirs?.text).toBe("theirs\n");
    await document.settle("theirs");
    expect([document.state.text, document.state.saving]).toEqual(["theirs\n", "saved"]);
    document.undo();
    await pass(1000);
    expect(server.disk).toBe("mine\n");
  });

  it("a second time before the decision is shown, and not overwritten", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("mine\n");
    server.disk = "theirs\n";
    await pass(1000);
    server.disk = "newer\n";
    await document.settle("mine");
    expect([server.disk, document.state.saving]).toEqual(["newer\n", "conflict"]);
    expect(document.state.conflict?.theirs?.text).toBe("newer\n");
    await document.settle("mine");
    expect(server.disk).toBe("mine\n");
  });

  it("to what is here, or back to what it was, is no conflict any longer", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("mine\n");
    server.disk = "theirs\n";
    await pass(1000);
    server.disk = "mine\n";
    await document.wake();
    expect(document.state.saving).toBe("saved");
    document.type("mine too\n");
    server.disk = "theirs\n";
    await pass(1000);
    expect(document.state.saving).toBe("conflict");
    server.disk = "mine\n";
    await document.wake();
    await pass(1000);
    expect([server.disk, document.state.saving]).toEqual(["mine too\n", "saved"]);
  });

  it("a decision that cannot be carried out loses nothing", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    document.type("mine\n");
    server.disk = "theirs\n";
    await pass(1000);
    server.isAway = true;
    await document.settle("mine");
    expect([document.state.saving, document.state.text, server.disk]).toEqual(["failed", "mine\n", "theirs\n"]);
    server.isAway = false;
    await pass(20_000);
    expect(server.disk).toBe("mine\n");
  });

  it("an answer from before a save does not bring the old text back", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    server.hold("reads");
    const slow = document.wake();
    document.type("ab\n");
    await pass(1000);
    expect(server.disk).toBe("ab\n");
    server.release();
    await slow;
    await pass(2000);
    expect([document.state.text, server.disk, document.state.saving]).toEqual(["ab\n", "ab\n", "saved"]);
    expect(document.state.history.past).toHaveLength(1);
  });
});

describe("an edit in the graph", () => {
  it("that the server did not make is drawn as it was, with the reason", async () => {
    for (const fault of ["away", "refused"] as const) {
      const server = new FakeServer("a\n");
      const document = open(server);
      await pass(10);
      const before = document.state.graph;
      if (fault === "away") server.isAway = true;
      else server.refusesEdits = true;
      const done = await document.edit("Move", [{ op: "set_position", node: "n", x: 1, y: 1 }]);
      expect(done, fault).toBe(false);
      expect(document.state.refusal, fault).not.toBeNull();
      // A new object: views draw the graph of the text again.
      expect(document.state.graph, fault).toEqual(before);
      expect(document.state.graph, fault).not.toBe(before);
      expect([document.state.text, document.isUnsaved], fault).toEqual(["a\n", false]);
    }
  });

  it("is made, saved and undone", async () => {
    const server = new FakeServer("a\n");
    const document = open(server);
    await document.edit("Move", []);
    await pass(1000);
    expect(server.disk).toBe("a\n# edited\n");
    document.undo();
    await pass(1000);
    expect(server.disk).toBe("a\n");
  });
});

describe("the open documents", () => {
  it("let go of a flow only when its text is saved", async () => {
    const server = new FakeServer("a\n");
    const documents = new OpenDocuments(server.ports(drafts));
    const first = await documents.open(PATH, SCOPE, false);
    documents.show(first);
    server.isAway = true;
    first.type("ab\n");
    documents.show(null);
    await pass(60_000);
    expect(documents.isUnsaved).toBe(true);
    expect(await documents.open(PATH, SCOPE, false)).toBe(first);
    server.isAway = false;
    await pass(20_000);
    expect(server.disk).toBe("ab\n");
    expect(documents.store.state.documents).toEqual([]);
  });

  it("open a file that is gone when there is a draft of it, and only then", async () => {
    const server = new FakeServer(null);
    const documents = new OpenDocuments(server.ports(drafts));
    await expect(documents.open(PATH, SCOPE, false)).rejects.toThrow();
    drafts.keepNow(draft({}));
    const document = await documents.open(PATH, SCOPE, false);
    expect([document.state.text, document.state.saving]).toEqual(["mine\n", "conflict"]);
  });
});
