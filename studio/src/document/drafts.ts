// Drafts: texts that are not in their file yet, kept in the browser so that a reload or a crash loses nothing.
//
// Invariants: a draft exists exactly while its text differs from the file as far as the page knows; it is dropped only
// after the server confirmed the text or a person chose the file; a draft of a page that is still open is offered to
// no other page.
import type { FileText } from "../api/contract";

export interface Draft {
  /** One page's work on one flow. */
  id: string;
  /** The tenant and the project. A draft of one is never shown to another. */
  scope: string;
  path: string;
  text: string;
  /** The hash of the file that the text was made from, or null for a file that was not there. */
  base: string | null;
  /** The text of a request that was under way: the file may already hold it. */
  sending: string | null;
  /** When it was typed, in milliseconds. */
  at: number;
}

export interface Drafts {
  /** Claims the drafts of a flow that no open page works on, newest first. */
  claim: (scope: string, path: string) => Promise<Draft[]>;
  /** Stores a draft in the place of the one with the same id. Reports whether the browser could store it. */
  keep: (draft: Draft) => Promise<boolean>;
  /** Stores a draft before it returns, for a page that is about to go away. */
  keepNow: (draft: Draft) => void;
  drop: (id: string) => void;
}

/** Line ends as every view counts them. The file keeps its own. */
export function unified(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** The line end that a file uses. */
export function lineEndOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** How a draft relates to the file: already saved, made from this file, or made from another text of the file. */
export type Relation = "saved" | "ahead" | "conflict";

export function relate(draft: Draft, file: FileText | null): Relation {
  if (file === null) return draft.base === null ? "ahead" : "conflict";
  const text = unified(file.text);
  if (text === draft.text) return "saved";
  return file.hash === draft.base || text === draft.sending ? "ahead" : "conflict";
}

/** The scope of drafts: who works, and in which project. */
export function scopeOf(tenant: string | null, projects: readonly { id: string }[], path: string): string {
  const prefixed = projects.length > 1 ? projects.find((each) => path.startsWith(`${each.id}/`)) : projects[0];
  return JSON.stringify([tenant, prefixed?.id ?? null]);
}

/** An id that no other page has. `randomUUID` is missing on pages without TLS. */
export function newDraftId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
