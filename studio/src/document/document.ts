// The one open flow: its text, what the checker says about it, its history, and the file it is kept in.
//
// Invariants: the text is the only truth, every view changes it through here; what is shown of a text that can not
// be read is what was last readable; a file that changed on disk is never overwritten without being asked.
import { api, type Subject } from "../api/client";
import { isAbort, messageOf, Problem } from "../api/problem";
import type { Analysis, Command, Edited, Graph, Range, TextChange } from "../api/types";
import { applyChanges } from "./changes";
import { begin, record, redo, undo, type History } from "./history";
import { Store } from "./store";

export type Saving = "saved" | "unsaved" | "saving" | "failed" | "conflict" | "read-only";

/** A place that the text view is asked to show. */
export interface Reveal {
  offset: number;
  endOffset: number;
  focus: boolean;
}

export interface DocumentState {
  path: string;
  text: string;
  analysis: Analysis | null;
  /** The graph of the last text that could be read. */
  graph: Graph | null;
  history: History;
  saving: Saving;
  /** Why the last thing that was asked for did not happen. */
  refusal: Refusal | null;
  selected: readonly string[];
  /** Who selected: the text only shows where its cursor stands, the graph asks for more. */
  selectedBy: "graph" | "text";
  reveal: Reveal | null;
}

export interface Refusal {
  message: string;
  help: string | null;
  findings: string[];
}

const ANALYSE_MS = 180;
const SAVE_MS = 700;

export class FlowDocument {
  readonly store: Store<DocumentState>;
  private hash: string | null;
  private kept: string;
  private analysing: AbortController | null = null;
  private analyseTimer: ReturnType<typeof setTimeout> | undefined;
  private saveTimer: ReturnType<typeof setTimeout> | undefined;
  private queue: Promise<unknown> = Promise.resolve();
  private readonly readOnly: boolean;
  /** Inside, lines end with a line feed, so that every view counts alike; the file keeps its own ends. */
  private readonly lineEnd: string;

  constructor(path: string, text: string, hash: string, readOnly: boolean) {
    this.readOnly = readOnly;
    this.hash = hash;
    this.lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
    this.kept = unified(text);
    this.store = new Store<DocumentState>({
      path,
      text: this.kept,
      analysis: null,
      graph: null,
      history: begin(this.kept),
      saving: readOnly ? "read-only" : "saved",
      refusal: null,
      selected: [],
      selectedBy: "graph",
      reveal: null,
    });
    void this.analyse();
  }

  get state(): DocumentState {
    return this.store.state;
  }

  get subject(): Subject {
    return { path: this.state.path, text: this.state.text };
  }

  /** Takes a text that was typed. */
  type(text: string): void {
    if (text !== this.state.text) this.put(text, "Typing", true);
  }

  /** Takes a text that a view made, as one change. */
  replace(text: string, label: string): void {
    this.put(text, label, false);
  }

  apply(changes: readonly TextChange[], label: string): void {
    this.put(applyChanges(this.state.text, changes), label, false);
  }

  /** Has the server carry out edit commands. They are done one after the other, each on the text it finds. */
  edit(label: string, commands: Command[], allowErrors = true): Promise<boolean> {
    const task = this.queue.then(() => this.editNow(label, commands, allowErrors));
    this.queue = task;
    return task;
  }

  undo(): void {
    this.go(undo(this.state.history));
  }

  redo(): void {
    this.go(redo(this.state.history));
  }

  select(nodes: readonly string[], by: "graph" | "text" = "graph"): void {
    const { selected, selectedBy } = this.state;
    const same = nodes.length === selected.length && nodes.every((node, index) => node === selected[index]);
    if (!same) this.store.update({ selected: nodes, selectedBy: by });
    else if (selectedBy !== by && by === "graph") this.store.update({ selectedBy: by });
  }

  /** Selects the node whose lines hold an offset. */
  selectAt(offset: number): void {
    const holds = (range: Range | null) => range !== null && range.offset <= offset && offset <= range.end_offset;
    const node = this.state.graph?.nodes.find((each) => holds(each.range));
    this.select(node === undefined ? [] : [node.id], "text");
  }

  reveal(offset: number, endOffset: number, focus = true): void {
    this.store.update({ reveal: { offset, endOffset, focus } });
  }

  refuse(refusal: Refusal | null): void {
    this.store.update({ refusal });
  }

  /** Saves without waiting. */
  async save(): Promise<void> {
    clearTimeout(this.saveTimer);
    if (this.readOnly || this.state.saving === "conflict") return;
    const { path, text } = this.state;
    if (text === this.kept) return;
    this.store.update({ saving: "saving" });
    try {
      const written = await api.write(path, text.replaceAll("\n", this.lineEnd), this.hash);
      this.hash = written.hash;
      this.kept = text;
      this.store.update({ saving: this.state.text === text ? "saved" : "unsaved" });
    } catch (error) {
      const conflict = error instanceof Problem && error.kind === "changed-on-disk";
      this.store.update({ saving: conflict ? "conflict" : "failed" });
      if (!conflict) this.refuse({ message: `Not saved. ${messageOf(error)}`, help: null, findings: [] });
    }
  }

  /** Looks whether the file changed on disk. What was not touched here follows it. */
  async follow(): Promise<void> {
    if (this.state.saving === "saving") return;
    const file = await api.file(this.state.path).catch(() => null);
    if (file === null || file.hash === this.hash) return;
    if (this.state.text !== this.kept) {
      this.store.update({ saving: "conflict" });
      return;
    }
    this.hash = file.hash;
    this.kept = unified(file.text);
    this.put(this.kept, "Changed on disk", false);
    this.store.update({ saving: this.readOnly ? "read-only" : "saved" });
  }

  /** Ends a conflict: with the text on disk, or with the text that is here. */
  async settle(keep: "mine" | "theirs"): Promise<void> {
    const file = await api.file(this.state.path).catch(() => null);
    this.hash = file?.hash ?? null;
    this.kept = unified(file?.text ?? "");
    this.store.update({ saving: "unsaved" });
    if (keep === "theirs" && file !== null) this.put(this.kept, "Taken from disk", false);
    await this.save();
    if (this.state.text === this.kept) this.store.update({ saving: "saved" });
  }

  close(): void {
    clearTimeout(this.analyseTimer);
    this.analysing?.abort();
    void this.save();
  }

  private put(text: string, label: string, typed: boolean): void {
    this.go(record(this.state.history, { text, label, at: Date.now(), typed }));
  }

  private go(history: History): void {
    const { text } = history.present;
    if (text === this.state.text) return;
    const saving = this.readOnly ? "read-only" : this.state.saving === "conflict" ? "conflict" : "unsaved";
    this.store.update({ history, text, saving, refusal: null });
    clearTimeout(this.analyseTimer);
    this.analyseTimer = setTimeout(() => void this.analyse(), ANALYSE_MS);
    clearTimeout(this.saveTimer);
    this.saveTimer = setTimeout(() => void this.save(), SAVE_MS);
  }

  private async analyse(): Promise<void> {
    this.analysing?.abort();
    const controller = new AbortController();
    this.analysing = controller;
    const { subject } = this;
    try {
      const analysis = await api.analyse(subject, controller.signal);
      // What was typed meanwhile is analysed on its own; places of an older text would be off.
      if (subject.text === this.state.text) this.take(analysis);
    } catch (error) {
      if (!isAbort(error)) this.refuse({ message: `Not checked. ${messageOf(error)}`, help: null, findings: [] });
    }
  }

  private take(analysis: Analysis): void {
    this.store.update({ analysis, graph: analysis.graph ?? this.state.graph });
  }

  private async editNow(label: string, commands: Command[], allowErrors: boolean): Promise<boolean> {
    // Someone may type while the server works: then it is done again on what is there.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { subject } = this;
      let edited: Edited;
      try {
        edited = await api.edit(subject, commands, allowErrors);
      } catch (error) {
        this.refuse(refusalOf(error));
        return false;
      }
      if (this.state.text !== subject.text) continue;
      this.put(edited.text, label, false);
      clearTimeout(this.analyseTimer);
      this.take(edited.analysis);
      return true;
    }
    this.refuse({ message: "The text changed while the edit was made.", help: "Try again.", findings: [] });
    return false;
  }
}

export function refusalOf(error: unknown): Refusal {
  const body = error instanceof Problem ? error.body : null;
  return {
    message: messageOf(error),
    help: body?.help ?? null,
    findings: (body?.diagnostics ?? []).map((finding) => `${finding.code}: ${finding.message}`),
  };
}

function unified(text: string): string {
  return text.replaceAll("\r\n", "\n");
}
