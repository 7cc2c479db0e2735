// Brings a text into its file, whatever happens to the server meanwhile.
//
// Invariants: one request writes at a time; a text that differs from the file is a draft in the browser until the server
// confirmed it; a save that failed is tried again until it succeeds; a file that changed on disk is overwritten only
// when a person says so; an answer that was asked for before a save began never changes the text.
import { messageOf, Problem } from "../api/problem";
import type { FileText, WrittenFile } from "../api/contract";
import { lineEndOf, relate, unified, type Draft, type Drafts, type Relation } from "./drafts";

export type Saving = "saved" | "unsaved" | "saving" | "failed" | "conflict" | "read-only";

/** Why a text is not in its file. */
export interface SaveFailure {
  message: string;
  /** Whether it is tried again without anybody's doing. */
  retrying: boolean;
}

/** The file as it is while the text here differs from it; null when it is gone. */
export interface Conflict {
  theirs: FileText | null;
}

export interface SavingState {
  saving: Saving;
  failure: SaveFailure | null;
  conflict: Conflict | null;
  /** Whether the browser keeps what is not saved. */
  drafted: boolean;
}

export interface FilePort {
  file: (path: string, signal?: AbortSignal) => Promise<FileText>;
  write: (path: string, text: string, hash: string | null, signal?: AbortSignal) => Promise<WrittenFile>;
}

export interface SaverPorts {
  files: FilePort;
  drafts: Drafts;
  now: () => number;
  /** A number from 0 up to 1, so that many pages do not come back at the same moment. */
  random: () => number;
}

export interface SaverStart {
  path: string;
  scope: string;
  draftId: string;
  readOnly: boolean;
  /** The file as it was read; null when it is not there. */
  file: FileText | null;
}

const SAVE_MS = 700;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
/** Longer than the server works on a text: after this it is not going to answer. */
const ANSWER_MS = 45_000;
/** What the same request would be answered with again: another text is needed, or a person. */
const FINAL = new Set([400, 413, 415, 422]);

export class Saver {
  private current: string;
  /** The text of the file that `hash` names: null when there is no file, undefined when it is not known. */
  private kept: string | null | undefined;
  private hash: string | null;
  private lineEnd: string;
  private sending: string | null = null;
  /** What the page before this one may have sent as it went away: the file may hold it at any moment. */
  private sentBefore: string | null = null;
  private inFlight: Promise<void> | null = null;
  private attempts = 0;
  private failure: SaveFailure | null = null;
  private conflict: Conflict | null = null;
  private drafted = true;
  /** Counts what happened to the file from here: a look at the file that began earlier is out of date. */
  private round = 0;
  private isLooking = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly start: SaverStart,
    private readonly ports: SaverPorts,
    /** Told after every change. */
    private readonly report: (state: SavingState) => void,
    /** Told when the file changed on disk and nothing was typed here. */
    private readonly onFollowed: (text: string) => void,
  ) {
    this.hash = start.file?.hash ?? null;
    this.kept = start.file === null ? null : unified(start.file.text);
    this.lineEnd = lineEndOf(start.file?.text ?? "");
    this.current = this.kept ?? "";
  }

  get text(): string {
    return this.current;
  }

  get isUnsaved(): boolean {
    if (this.start.readOnly) return false;
    return this.current !== this.kept || (this.sending !== null && this.sending !== this.current);
  }

  get state(): SavingState {
    const { failure, conflict, drafted } = this;
    return { saving: this.saving, failure, conflict, drafted };
  }

  private get saving(): Saving {
    if (this.start.readOnly) return "read-only";
    if (this.conflict !== null) return "conflict";
    if (this.failure !== null) return "failed";
    if (this.inFlight !== null) return "saving";
    return this.isUnsaved ? "unsaved" : "saved";
  }

  /** Takes the text as it is now, and saves it after a moment. */
  change(text: string): void {
    if (this.start.readOnly || text === this.current) return;
    this.current = text;
    if (this.isUnsaved) this.draft();
    else this.ports.drafts.drop(this.start.draftId);
    // Another text is another question.
    if (this.failure?.retrying === false) this.failure = null;
    if (this.failure === null) this.schedule(SAVE_MS);
    this.tell();
  }

  /** Saves now, after the request that is under way. */
  async save(): Promise<void> {
    clearTimeout(this.timer);
    await this.inFlight;
    if (this.isBusy || this.conflict !== null || this.start.readOnly) return;
    if (!this.isUnsaved) {
      this.settled();
      return;
    }
    this.inFlight = this.attempt().finally(() => {
      this.inFlight = null;
    });
    this.tell();
    await this.inFlight;
    if (this.saving === "unsaved") this.schedule(SAVE_MS);
    this.tell();
  }

  private get isBusy(): boolean {
    return this.inFlight !== null;
  }

  /** The server may be back: tries again what failed, and looks at the file. */
  async wake(): Promise<void> {
    if (this.failure?.retrying === true) await this.save();
    else await this.follow();
  }

  /** Looks whether the file changed on disk. A text that was not touched here follows it. Says whether there was an answer. */
  async follow(): Promise<boolean> {
    if (this.isLooking || this.inFlight !== null) return false;
    this.isLooking = true;
    const { round } = this;
    try {
      const file = await this.look();
      if (round === this.round) this.meet(file);
      return true;
    } catch {
      return false;
    } finally {
      this.isLooking = false;
    }
  }

  /** Takes over a draft of an earlier page. It waits for a decision when the file is not what the draft was made from. */
  restore(draft: Draft): Relation {
    const file = typeof this.kept !== "string" || this.hash === null ? null : { path: this.start.path, text: this.kept, hash: this.hash };
    const relation = relate(draft, file);
    if (relation === "saved") {
      this.ports.drafts.drop(draft.id);
      return relation;
    }
    this.current = draft.text;
    if (relation === "conflict") {
      this.conflict = { theirs: file };
      this.hash = draft.base;
      this.kept = undefined;
    } else {
      this.sentBefore = draft.text;
      this.schedule(SAVE_MS);
    }
    // From now on it is this page's draft. The old copy goes when the new one is stored.
    void this.ports.drafts.keep(this.asDraft()).then((stored) => stored && this.ports.drafts.drop(draft.id));
    this.tell();
    return relation;
  }

  /** Ends a conflict in favour of the text here. The file that was shown is overwritten, and no later one. */
  keepMine(): Promise<void> {
    if (this.conflict === null) return Promise.resolve();
    this.base(this.conflict.theirs);
    this.conflict = null;
    return this.save();
  }

  /** Ends a conflict in favour of the file. Gives its text. */
  takeTheirs(): string | null {
    const theirs = this.conflict?.theirs ?? null;
    if (theirs === null) return null;
    this.base(theirs);
    this.conflict = null;
    this.current = unified(theirs.text);
    this.settled();
    return this.current;
  }

  /** The page is going away: what can be sent is sent, and what is not saved is stored before this returns. */
  flush(): void {
    if (!this.isUnsaved) return;
    this.ports.drafts.keepNow(this.asDraft());
    if (this.conflict !== null) return;
    if (this.inFlight === null) void this.save();
    else if (this.sending !== this.current) {
      // The request under way may be the last of this page. The draft says what it sent.
      void this.ports.files.write(this.start.path, this.encoded(this.current), this.hash).catch(() => undefined);
    }
  }

  private async attempt(): Promise<void> {
    const text = this.current;
    this.sending = text;
    this.round += 1;
    this.draft();
    try {
      const { path } = this.start;
      const written = await this.ports.files.write(path, this.encoded(text), this.hash, AbortSignal.timeout(ANSWER_MS));
      this.hash = written.hash;
      this.kept = text;
      this.sentBefore = null;
      this.settled();
    } catch (error) {
      if (error instanceof Problem && error.kind === "changed-on-disk") await this.compare();
      else this.fail(error);
    } finally {
      this.sending = null;
      this.round += 1;
    }
  }

  /** The server has another file than this page knew. */
  private async compare(): Promise<void> {
    try {
      this.meet(await this.look());
      // The file is what it was: the next attempt knows its hash.
      if (this.conflict === null && this.isUnsaved) this.schedule(SAVE_MS);
    } catch (error) {
      this.fail(error);
    }
  }

  private async look(): Promise<FileText | null> {
    try {
      return await this.ports.files.file(this.start.path, AbortSignal.timeout(ANSWER_MS));
    } catch (error) {
      if (error instanceof Problem && error.body.status === 404) return null;
      throw error;
    }
  }

  /** Compares with the file as it is on disk. */
  private meet(file: FileText | null): void {
    const text = file === null ? null : unified(file.text);
    const isKnown = file?.hash === (this.hash ?? undefined);
    if (text === this.current) {
      const isNew = !isKnown || this.conflict !== null || this.failure !== null;
      this.base(file);
      this.conflict = null;
      if (isNew) this.settled();
    } else if (text === this.kept || (text !== null && text === this.sentBefore)) {
      // Also a file whose line ends changed: its text is what was known.
      this.base(file);
      const wasConflict = this.conflict !== null;
      this.conflict = null;
      if (wasConflict && this.isUnsaved) this.schedule(SAVE_MS);
      else if (this.failure?.retrying === true && this.inFlight === null) void this.save();
    } else if (this.isUnsaved) {
      clearTimeout(this.timer);
      this.failure = null;
      this.conflict = { theirs: file };
      this.draft();
    } else if (file !== null) {
      this.base(file);
      this.round += 1;
      this.conflict = null;
      this.current = unified(file.text);
      this.onFollowed(this.current);
    }
    this.tell();
  }

  private base(file: FileText | null): void {
    this.hash = file?.hash ?? null;
    this.kept = file === null ? null : unified(file.text);
    if (file !== null) this.lineEnd = lineEndOf(file.text);
  }

  private fail(error: unknown): void {
    const retrying = !(error instanceof Problem && FINAL.has(error.body.status));
    this.failure = { message: messageOf(error), retrying };
    clearTimeout(this.timer);
    if (!retrying) return;
    const wait = Math.min(FIRST_RETRY_MS * 2 ** Math.min(this.attempts, 10), LONGEST_RETRY_MS);
    this.attempts += 1;
    this.schedule(wait * (0.75 + this.ports.random() / 2));
  }

  /** The server has answered for a text. */
  private settled(): void {
    this.failure = null;
    this.attempts = 0;
    if (this.isUnsaved) this.draft();
    else this.ports.drafts.drop(this.start.draftId);
    this.tell();
  }

  private schedule(wait: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.save(), wait);
  }

  private draft(): void {
    void this.ports.drafts.keep(this.asDraft()).then((stored) => {
      if (stored === this.drafted) return;
      this.drafted = stored;
      this.tell();
    });
  }

  private asDraft(): Draft {
    const { path, scope, draftId: id } = this.start;
    return { id, scope, path, text: this.current, base: this.hash, sending: this.sending ?? this.sentBefore, at: this.ports.now() };
  }

  private encoded(text: string): string {
    return this.lineEnd === "\n" ? text : text.replaceAll("\n", this.lineEnd);
  }

  private tell(): void {
    this.report(this.state);
  }
}
