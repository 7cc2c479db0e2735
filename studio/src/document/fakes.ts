// What the document's tests run against: a disk with a server in front of it that can be away or slow, and drafts in
// memory.
import { Problem } from "../api/problem";
import type { Analysis, Edited, FileText, Graph, WrittenFile } from "../api/contract";
import type { DocumentPorts } from "./document";
import type { Draft, Drafts } from "./drafts";

export const PATH = "flows/a.yaml";
export const SCOPE = "acme";

export class FakeDrafts implements Drafts {
  readonly kept = new Map<string, Draft>();
  isFull = false;

  claim = (scope: string, path: string): Promise<Draft[]> => {
    const found = [...this.kept.values()].filter((draft) => draft.scope === scope && draft.path === path);
    return Promise.resolve(found.sort((left, right) => right.at - left.at));
  };

  keep = (draft: Draft): Promise<boolean> => {
    if (!this.isFull) this.kept.set(draft.id, draft);
    return Promise.resolve(!this.isFull);
  };

  keepNow = (draft: Draft): void => {
    this.kept.set(draft.id, draft);
  };

  drop = (id: string): void => {
    this.kept.delete(id);
  };

  get texts(): string[] {
    return [...this.kept.values()].map((draft) => draft.text);
  }
}

export class FakeServer {
  disk: string | null;
  isAway = false;
  /** Answers a write with this status instead of writing. */
  status: number | null = null;
  /** Writes, and then breaks the connection. */
  losesAnswers = false;
  writes: string[] = [];
  analyses = 0;
  refusesEdits = false;
  private held: { what: "reads" | "writes"; waiting: (() => void)[] } | null = null;

  constructor(text: string | null) {
    this.disk = text;
  }

  /** Holds requests until they are released. A read answers with what it found on disk when it came in. */
  hold(what: "reads" | "writes"): void {
    this.held = { what, waiting: [] };
  }

  release(): void {
    const waiting = this.held?.waiting ?? [];
    this.held = null;
    for (const go of waiting) go();
  }

  get file(): FileText | null {
    return this.disk === null ? null : { path: PATH, text: this.disk, hash: hashOf(this.disk) };
  }

  read = async (): Promise<FileText> => {
    this.reach();
    const { file } = this;
    await this.wait("reads");
    if (file === null) throw problem(404, "not-found");
    return file;
  };

  write = async (_: string, text: string, hash: string | null): Promise<WrittenFile> => {
    this.reach();
    await this.wait("writes");
    this.reach();
    this.writes.push(text);
    if (this.status !== null) throw problem(this.status, "internal");
    if (this.disk !== text) {
      if ((this.file?.hash ?? null) !== hash) throw problem(409, "changed-on-disk", this.file?.hash ?? null);
      this.disk = text;
    }
    if (this.losesAnswers) throw new TypeError("Failed to fetch");
    return { path: PATH, hash: hashOf(text), served: null };
  };

  private reach(): void {
    if (this.isAway) throw new TypeError("Failed to fetch");
  }

  private wait(what: "reads" | "writes"): Promise<void> {
    const { held } = this;
    return held?.what === what ? new Promise((resolve) => held.waiting.push(resolve)) : Promise.resolve();
  }

  ports(drafts: Drafts): DocumentPorts {
    return {
      files: { file: this.read, write: this.write },
      drafts,
      now: () => Date.now(),
      random: () => 0.5,
      checker: {
        analyse: (subject) => {
          this.analyses += 1;
          return this.isAway ? Promise.reject(new TypeError("Failed to fetch")) : Promise.resolve(analysisOf(subject.text));
        },
        edit: (subject) => {
          if (this.isAway) return Promise.reject(new TypeError("Failed to fetch"));
          if (this.refusesEdits) return Promise.reject(problem(422, "edit-refused"));
          const text = `${subject.text}# edited\n`;
          return Promise.resolve({ text, analysis: analysisOf(text) } as Edited);
        },
      },
    };
  }
}

export function hashOf(text: string): string {
  return `hash of ${text}`;
}

function problem(status: number, kind: string, hash: string | null = null): Problem {
  return new Problem({ type: `urn:stave:${kind}`, title: kind, status, detail: null, node: null, hash });
}

function analysisOf(text: string): Analysis {
  const graph: Graph = { nodes: [], edges: [], width: 0, height: 0 };
  const summary = { errors: 0, warnings: 0, notes: 0 };
  return { text_hash: hashOf(text), hash: null, summary, diagnostics: [], flow: null, graph, request: [] };
}
