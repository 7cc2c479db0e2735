// The one open flow: its text, what the checker says about it, its history, and the file it is kept in.
//
// Invariants: the text is the only truth, every view changes it through here; what is shown of a text that cannot
// be read is what was last readable; what a view drew ahead of the text is drawn again when the change is refused. How
// the text gets into its file is the saver's business.
import type { api, Subject } from "../api/client";
import { isAbort, messageOf, Problem } from "../api/problem";
import type { Analysis, Command, Edited, FileText, Graph, Range, TextChange } from "../api/contract";
import { applyChanges } from "./changes";
import { newDraftId, type Draft } from "./drafts";
import { begin, record, redo, undo, type History } from "./history";
import { Saver, type SaverPorts, type SavingState } from "./saver";
import { Store } from "./store";

/** A place that the text view is asked to show. */
export interface Reveal {
  offset: number;
  endOffset: number;
  focus: boolean;
}

/** A text of an earlier page that was not saved, and what the editor held before it came back. */
export interface Restored {
  at: number;
  before: string;
}

export interface DocumentState extends SavingState {
  path: string;
  text: string;
  analysis: Analysis | null;
  /** The graph of the last text that could be read. */
  graph: Graph | null;
  history: History;
  /** Why the text could not be checked. */
  unchecked: string | null;
  restored: Restored | null;
  /** Why the last thing that was asked for did not happen. */
  refusal: Refusal | null;
  selected: readonly string[];
  /** Who selected: the text only shows where its cursor is, the graph asks for more. */
  selectedBy: "graph" | "text";
  reveal: Reveal | null;
}

export interface Refusal {
  message: string;
  help: string | null;
  findings: string[];
}

export interface DocumentPorts extends SaverPorts {
  checker: Pick<typeof api, "analyse" | "edit">;
}

export interface DocumentStart {
  path: string;
  scope: string;
  readOnly: boolean;
  /** The file as it was read; null when it is gone and only a draft is left. */
  file: FileText | null;
  /** What earlier pages did not save, newest first. */
  drafts: readonly Draft[];
}

const ANALYSE_MS = 180;

export class FlowDocument {
  readonly store: Store<DocumentState>;
  private readonly saver: Saver;
  private readonly waiting: Draft[];
  private analysing: AbortController | null = null;
  private analyseTimer: ReturnType<typeof setTimeout> | undefined;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    start: DocumentStart,
    private readonly ports: DocumentPorts,
  ) {
    const { path, scope, readOnly, file } = start;
    const saver = { path, scope, draftId: newDraftId(), readOnly, file };
    this.saver = new Saver(
      saver,
      ports,
      (state) => this.onSaving(state),
      (text) => this.put(text, "Changed on disk", false),
    );
    this.waiting = readOnly ? [] : [...start.drafts];
    this.store = new Store<DocumentState>({
      ...this.saver.state,
      path,
      text: this.saver.text,
      analysis: null,
      graph: null,
      history: begin(this.saver.text),
      unchecked: null,
      restored: null,
      refusal: null,
      selected: [],
      selectedBy: "graph",
      reveal: null,
    });
    this.restoreNext(true);
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

  /** Whether there is text that is not in the file. */
  get isUnsaved(): boolean {
    return this.saver.isUnsaved;
  }

  /** Saves now. */
  save(): Promise<void> {
    return this.saver.save();
  }

  /** The server may be back, or the file may have changed: looks, and does again what failed. */
  async wake(): Promise<void> {
    await this.saver.wake();
    if (this.state.unchecked !== null) await this.analyse();
  }

  /** The page is going away. */
  flush(): void {
    this.saver.flush();
  }

  /** Ends a conflict: with the text on disk, or with the text that is here. Undo brings the other one back. */
  async settle(keep: "mine" | "theirs"): Promise<void> {
    this.store.update({ restored: null });
    if (keep === "mine") {
      await this.saver.keepMine();
      return;
    }
    const text = this.saver.takeTheirs();
    if (text !== null) this.put(text, "Taken from disk", false);
  }

  /** Ends the notice about a restored text: keeps the text, or goes back to what was there before. */
  acknowledge(keep: boolean): void {
    const { restored } = this.state;
    this.store.update({ restored: null });
    if (!keep && restored !== null) this.put(restored.before, "Draft set aside", false);
  }

  /** No view shows it any longer. Unsaved text is still saved. */
  close(): void {
    clearTimeout(this.analyseTimer);
    this.analysing?.abort();
    void this.save();
  }

  private onSaving(state: SavingState): void {
    this.store.update(state);
    if (state.saving !== "saved") return;
    if (this.state.unchecked !== null) void this.analyse();
    if (this.waiting.length > 0) queueMicrotask(() => this.restoreNext());
  }

  /** Brings back the newest text that is not in the file. The next one has its turn when this one is settled. */
  private restoreNext(isFirst = false): void {
    while (isFirst || !this.saver.isUnsaved) {
      const draft = this.waiting.shift();
      if (draft === undefined) return;
      if (this.saver.restore(draft) === "saved") continue;
      isFirst = false;
      const before = this.state.text;
      this.put(draft.text, "Restored", false);
      this.store.update({ restored: { at: draft.at, before } });
    }
  }

  private put(text: string, label: string, typed: boolean): void {
    this.go(record(this.state.history, { text, label, at: this.ports.now(), typed }));
  }

  private go(history: History): void {
    const { text } = history.present;
    if (text === this.state.text) return;
    this.store.update({ history, text, refusal: null });
    this.saver.change(text);
    clearTimeout(this.analyseTimer);
    this.analyseTimer = setTimeout(() => void this.analyse(), ANALYSE_MS);
  }

  private async analyse(): Promise<void> {
    this.analysing?.abort();
    const controller = new AbortController();
    this.analysing = controller;
    const { subject } = this;
    try {
      const analysis = await this.ports.checker.analyse(subject, controller.signal);
      // What was typed meanwhile is analysed on its own; places of an older text would be off.
      if (subject.text === this.state.text) this.take(analysis);
    } catch (error) {
      if (!isAbort(error)) this.store.update({ unchecked: messageOf(error) });
    }
  }

  private take(analysis: Analysis): void {
    this.store.update({ analysis, graph: analysis.graph ?? this.state.graph, unchecked: null });
  }

  private async editNow(label: string, commands: Command[], allowErrors: boolean): Promise<boolean> {
    // Someone may type while the server works: then it is done again on what is there.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { subject } = this;
      let edited: Edited;
      try {
        edited = await this.ports.checker.edit(subject, commands, allowErrors);
      } catch (error) {
        return this.turnDown(refusalOf(error));
      }
      if (this.state.text !== subject.text) continue;
      this.put(edited.text, label, false);
      clearTimeout(this.analyseTimer);
      this.take(edited.analysis);
      return true;
    }
    return this.turnDown({ message: "The text changed while the edit was made.", help: "Try again.", findings: [] });
  }

  /** An edit was not made: the reason is shown, and the graph is drawn as the text has it. */
  private turnDown(refusal: Refusal): false {
    const { graph } = this.state;
    this.store.update({ refusal, graph: graph === null ? null : { ...graph } });
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
