// Every call of the server's API, typed, in one place.
import { key } from "./key";
import { problemFrom } from "./problem";
import type { GatewayReport, GroupBy } from "./gateway";
import type { Comparison, NodeRunWhole, Question, RunRow, RunStatus, RunView } from "./runs";
import type {
  Analysis,
  Command,
  CompletionItem,
  Edited,
  FileText,
  FlowFile,
  Json,
  Lines,
  PaletteItem,
  Proposed,
  Range,
  Session,
  Target,
  Written,
} from "./types";

export interface Begun {
  run_id: string;
  flow: string;
}

/** A text, and the file whose project's settings it is judged by. */
export interface Subject {
  path: string;
  text: string;
}

type Method = "GET" | "POST" | "PUT";

export function headers(): Record<string, string> {
  const value = key();
  return value === null ? {} : { "X-API-Key": value };
}

/** The most that browsers let a page send while it goes away is 64 KiB, with all that is under way. */
const OUTLIVES_BYTES = 30 * 1024;
/** Longer than the server works on a text: after this it is not going to answer. */
const EDIT_MS = 45_000;

interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Whether the request goes on when the page goes away, as far as its size allows. */
  outlives?: boolean;
}

async function call<T>(method: Method, path: string, body?: object, options: CallOptions = {}): Promise<T> {
  const init: RequestInit = { method, headers: headers(), credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    const text = JSON.stringify(body);
    init.body = text;
    init.headers = { ...headers(), "content-type": "application/json" };
    init.keepalive = options.outlives === true && new Blob([text]).size <= OUTLIVES_BYTES;
  }
  if (options.signal !== undefined) init.signal = options.signal;
  const response = await fetch(path, init);
  const text = await response.text();
  if (!response.ok) throw problemFrom(response.status, text);
  return JSON.parse(text) as T;
}

const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, { signal });
const post = <T>(path: string, body: object, signal?: AbortSignal) => call<T>("POST", path, body, { signal });

function query(values: Record<string, string | number | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) search.set(name, String(value));
  const text = search.toString();
  return text === "" ? "" : `?${text}`;
}

const run = (id: string) => `/runs/${encodeURIComponent(id)}`;
const studioRun = (id: string) => `/studio/runs/${encodeURIComponent(id)}`;

export const api = {
  session: () => get<Session>("/studio/session"),

  files: () => get<{ files: FlowFile[] }>("/studio/files").then((answer) => answer.files),
  file: (path: string, signal?: AbortSignal) => get<FileText>(`/studio/file${query({ path })}`, signal),
  write: (path: string, text: string, hash: string | null, signal?: AbortSignal) =>
    call<Written>("PUT", "/studio/file", { path, text, hash }, { signal, outlives: true }),

  analyse: (subject: Subject, signal?: AbortSignal) => post<Analysis>("/studio/analyse", subject, signal),
  connectable: (subject: Subject, from: string) =>
    post<{ targets: Target[] }>("/studio/connectable", { ...subject, from }).then((answer) => answer.targets),
  edit: (subject: Subject, commands: Command[], allowErrors: boolean) =>
    post<Edited>("/studio/edit", { ...subject, commands, allow_errors: allowErrors }, AbortSignal.timeout(EDIT_MS)),
  chat: (subject: Subject, message: string) => post<Proposed>("/studio/chat", { ...subject, message }),
  format: (subject: Subject) => post<{ text: string }>("/studio/format", subject),

  hover: (subject: Subject, offset: number) =>
    post<{ markdown: string | null; range: Range | null }>("/studio/hover", { ...subject, offset }),
  completion: (subject: Subject, offset: number, signal?: AbortSignal) =>
    post<{ items: CompletionItem[] }>("/studio/completion", { ...subject, offset }, signal),
  definition: (subject: Subject, offset: number) =>
    post<{ ranges: Range[] }>("/studio/definition", { ...subject, offset }),

  palette: () => get<{ items: PaletteItem[] }>("/studio/palette").then((answer) => answer.items),
  lines: (subject: Subject) => post<Lines>("/studio/lines", subject),

  start: (subject: Subject, input: Json) => post<Begun>("/studio/run", { ...subject, input }),
  runs: (flow: string | undefined, status: RunStatus | undefined, limit: number) =>
    get<{ runs: RunRow[] }>(`/runs${query({ flow, status, limit })}`).then((answer) => answer.runs),
  runView: (id: string) => get<RunView>(studioRun(id)),
  runNode: (id: string, node: string) =>
    get<NodeRunWhole>(`${studioRun(id)}/nodes/${encodeURIComponent(node)}`),
  cancel: (id: string) => post<Json>(`${run(id)}/cancel`, {}),
  resume: (id: string, force = false) => post<Json>(`${run(id)}/resume`, force ? { force } : {}),
  replay: (id: string, node?: string) => post<Begun>(`${run(id)}/replay`, node === undefined ? {} : { node }),
  decide: (id: string, question: Question, approved: boolean, comment: string) =>
    post<Json>(`${run(id)}/nodes/${encodeURIComponent(question.node)}/decision`, {
      approved,
      comment,
      digest: question.digest,
    }),
  compare: (a: string, b: string) => get<Comparison>(`/studio/compare${query({ a, b })}`),

  gateway: (project: string | undefined, by: GroupBy, hours: number) =>
    get<GatewayReport>(`/studio/gateway${query({ project, by, hours })}`),
};
