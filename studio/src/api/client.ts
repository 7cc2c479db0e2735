// Every call of the server's API, in one place. What each one takes and answers is declared by the server.
import { key } from "./key";
import { problemFrom } from "./problem";
import type { Command, GroupBy, Json, Operations, Question, RunStatus } from "./contract";

/** A text, and the file whose project's settings it is judged by. */
export interface Subject {
  path: string;
  text: string;
}

type Operation = keyof Operations;

export function headers(): Record<string, string> {
  const value = key();
  return value === null ? {} : { "X-API-Key": value };
}

/** The most that browsers let a page send while it goes away is 64 KiB, with all that is under way. */
const OUTLIVES_BYTES = 30 * 1024;
/** Longer than the server works on a text: after this it is not going to answer. */
const EDIT_MS = 45_000;

interface CallOptions<O extends Operation> {
  /** The values for the braces of the path. */
  names?: Record<string, string>;
  query?: Record<string, string | number | undefined>;
  body?: Operations[O]["body"];
  signal?: AbortSignal | undefined;
  /** Whether the request continues when the page goes away, as far as its size allows. */
  outlives?: boolean;
}

async function call<O extends Operation>(operation: O, options: CallOptions<O> = {}): Promise<Operations[O]["answer"]> {
  const [method = "", template = ""] = operation.split(" ");
  const init: RequestInit = { method, headers: headers(), credentials: "same-origin", cache: "no-store" };
  if (options.body !== undefined) {
    const text = JSON.stringify(options.body);
    init.body = text;
    init.headers = { ...headers(), "content-type": "application/json" };
    init.keepalive = options.outlives === true && new Blob([text]).size <= OUTLIVES_BYTES;
  }
  if (options.signal !== undefined) init.signal = options.signal;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(options.names?.[name] ?? ""));
  const response = await fetch(`${path}${query(options.query ?? {})}`, init);
  const text = await response.text();
  if (!response.ok) throw problemFrom(response.status, text);
  return JSON.parse(text) as Operations[O]["answer"];
}

function query(values: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

export const api = {
  session: () => call("GET /studio/session"),

  files: () => call("GET /studio/files").then((answer) => answer.files),
  file: (path: string, signal?: AbortSignal) => call("GET /studio/file", { query: { path }, signal }),
  write: (path: string, text: string, hash: string | null, signal?: AbortSignal) =>
    call("PUT /studio/file", { body: { path, text, hash }, signal, outlives: true }),

  analyse: (subject: Subject, signal?: AbortSignal) => call("POST /studio/analyse", { body: subject, signal }),
  connectable: (subject: Subject, from: string) =>
    call("POST /studio/connectable", { body: { ...subject, from } }).then((answer) => answer.targets ?? []),
  edit: (subject: Subject, commands: Command[], allowErrors: boolean) =>
    call("POST /studio/edit", {
      body: { ...subject, commands, allow_errors: allowErrors },
      signal: AbortSignal.timeout(EDIT_MS),
    }),
  chat: (subject: Subject, message: string) => call("POST /studio/chat", { body: { ...subject, message } }),
  format: (subject: Subject) => call("POST /studio/format", { body: subject }),

  hover: (subject: Subject, offset: number) => call("POST /studio/hover", { body: { ...subject, offset } }),
  completion: (subject: Subject, offset: number, signal?: AbortSignal) =>
    call("POST /studio/completion", { body: { ...subject, offset }, signal }),
  definition: (subject: Subject, offset: number) => call("POST /studio/definition", { body: { ...subject, offset } }),

  palette: () => call("GET /studio/palette").then((answer) => answer.items),
  lines: (subject: Subject) => call("POST /studio/lines", { body: subject }),

  start: (subject: Subject, input: Json) => call("POST /studio/run", { body: { ...subject, input } }),
  runs: (flow: string | undefined, status: RunStatus | undefined, limit: number) =>
    call("GET /runs", { query: { flow, status, limit } }).then((answer) => answer.runs),
  runView: (run: string) => call("GET /studio/runs/{run}", { names: { run } }),
  runNode: (run: string, node: string) => call("GET /studio/runs/{run}/nodes/{node}", { names: { run, node } }),
  cancel: (run: string) => call("POST /runs/{run}/cancel", { names: { run } }),
  resume: (run: string, force = false) =>
    call("POST /runs/{run}/resume", { names: { run }, body: force ? { force } : {} }),
  replay: (run: string, node?: string) =>
    call("POST /runs/{run}/replay", { names: { run }, body: node === undefined ? {} : { node } }),
  decide: (run: string, question: Question, approved: boolean, comment: string) =>
    call("POST /runs/{run}/nodes/{node}/decision", {
      names: { run, node: question.node },
      body: { approved, comment, digest: question.digest },
    }),
  compare: (a: string, b: string) => call("GET /studio/compare", { query: { a, b } }),

  gateway: (project: string | undefined, by: GroupBy, hours: number) =>
    call("GET /studio/gateway", { query: { project, by, hours } }),
};
