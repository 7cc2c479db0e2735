// What went wrong with a request, in the server's words (RFC 9457) or as near to them as there are any.
import type { Json, ProblemDocument } from "./contract";

/** A problem document, or what is known when a proxy or a crash answered without one. */
export type ProblemBody = Omit<ProblemDocument, "detail" | "trace_id"> & { detail: string | null };

export class Problem extends Error {
  readonly body: ProblemBody;

  constructor(body: ProblemBody) {
    super(body.detail ?? body.title);
    this.name = "Problem";
    this.body = body;
  }

  /** The last part of its type: `changed-on-disk`, `edit-refused`, … */
  get kind(): string {
    return this.body.type.split(":").at(-1) ?? this.body.type;
  }
}

/** Reads an answer that is no success. Proxies and crashes answer without a problem document. */
export function problemFrom(status: number, body: string): Problem {
  try {
    const parsed = JSON.parse(body) as Json;
    if (parsed !== null && typeof parsed === "object" && !Array.isArray(parsed) && "title" in parsed) {
      const defaults = { type: "about:blank", title: "", status, detail: null, node: null };
      return new Problem({ ...defaults, ...(parsed as unknown as ProblemBody) });
    }
  } catch {
    // Not JSON: what there is to say is the status.
  }
  return new Problem({ type: "about:blank", title: `The server answered ${status}`, status, detail: null, node: null });
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** One sentence for people. */
export function messageOf(error: unknown): string {
  if (error instanceof Problem) return error.message;
  if (error instanceof TypeError) return "The server cannot be reached.";
  if (error instanceof DOMException && error.name === "TimeoutError") return "The server does not answer.";
  return error instanceof Error ? error.message : String(error);
}
