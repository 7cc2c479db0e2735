// The flows that are open: the one that is shown, and those that were left before their text was saved.
//
// Invariant: a document with unsaved text is never let go of. Its saver continues, leaving the page asks first, and a
// person who opens the flow again gets the same document.
import type { FileText } from "../api/contract";
import { Problem } from "../api/problem";
import { FlowDocument, type DocumentPorts } from "./document";
import { Store } from "./store";

export class OpenDocuments {
  readonly store = new Store<{ documents: readonly FlowDocument[] }>({ documents: [] });
  private shown: FlowDocument | null = null;

  constructor(private readonly ports: DocumentPorts) {}

  private get documents(): readonly FlowDocument[] {
    return this.store.state.documents;
  }

  get isUnsaved(): boolean {
    return this.documents.some((each) => each.isUnsaved);
  }

  /** Opens a flow, with what was not saved of it. */
  async open(path: string, scope: string, readOnly: boolean): Promise<FlowDocument> {
    const known = () => this.documents.find((each) => each.state.path === path);
    const before = known();
    if (before !== undefined) return before;
    const reading = this.ports.files.file(path).catch((error: unknown) => {
      if (error instanceof Problem && error.body.status === 404) return error;
      throw error;
    });
    const drafts = readOnly ? [] : await this.ports.drafts.claim(scope, path);
    const answer = await reading;
    // A file that is gone can still have a text that was not saved.
    if (answer instanceof Problem && drafts.length === 0) throw answer;
    const file: FileText | null = answer instanceof Problem ? null : answer;
    const meanwhile = known();
    if (meanwhile !== undefined) return meanwhile;
    const document = new FlowDocument({ path, scope, readOnly, file, drafts }, this.ports);
    this.store.update({ documents: [...this.documents, document] });
    return document;
  }

  /** Says which document is on the page. The one before goes when its text is saved. */
  show(document: FlowDocument | null): void {
    const left = this.shown;
    this.shown = document;
    if (left === null || left === document) return;
    left.close();
    const release = () => {
      if (left === this.shown || left.isUnsaved) return;
      stop();
      this.store.update({ documents: this.documents.filter((each) => each !== left) });
    };
    const stop = left.store.subscribe(release);
    release();
  }

  flush(): void {
    for (const document of this.documents) document.flush();
  }

  /** The server may be back. */
  wake(): void {
    for (const document of this.documents) void document.wake();
  }
}
