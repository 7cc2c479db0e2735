// Every call of the server's API, typed, in one place.
import { key } from "./key";
import { problemFrom } from "./problem";
import type { GatewayReport, GroupBy } from "./gateway";
import type { Comparison, NodeRunWhole, RunRow, RunView } from "./runs";
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

async function call<T>(method: Method, path: string, body?: object, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { method, headers: headers(), credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { ...headers(), "content-type": "application/json" };
  }
  if (signal !== undefined) init.signal = signal;
  const response = await fetch(path, init);
  const text = await response.text();
  if (!response.ok) throw problemFrom(response.status, text);
  return JSON.parse(text) as T;
}

const get = <T>(path: string, signal?: AbortSignal) => call<T>("GET", path, undefined, signal);
const post = <T>(path: string, body: object, signal?: AbortSignal) => call<T>("POST", path, body, signal);

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
  file: (path: string) => get<FileText>(`/studio/file${query({ path })}`),
  write: (path: string, text: string, hash: string | null) =>
    call<Written>("PUT", "/studio/file", { path, text, hash }),

  analyse: (subject: Subject, signal?: AbortSignal) => post<Analysis>("/studio/analyse", subject, signal),
  connectable: (subject: Subject, from: string) =>
    post<{ targets: Target[] }>("/studio/connectable", { ...subject, from }).then((answer) => answer.targets),
  edit: (subject: Subject, commands: Command[], allowErrors: boolean) =>
    post<Edited>("/studio/edit", { ...subject, commands, allow_errors: allowErrors }),
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
  runs: (flow: string | undefined, limit: number) =>
    get<{ runs: RunRow[] }>(`/runs${query({ flow, limit })}`).then((answer) => answer.runs),
  runView: (id: string) => get<RunView>(studioRun(id)),
  runNode: (id: string, node: string) =>
    get<NodeRunWhole>(`${studioRun(id)}/nodes/${encodeURIComponent(node)}`),
  cancel: (id: string) => post<Json>(`${run(id)}/cancel`, {}),
  resume: (id: string) => post<Json>(`${run(id)}/resume`, {}),
  replay: (id: string, node?: string) => post<Begun>(`${run(id)}/replay`, node === undefined ? {} : { node }),
  decide: (id: string, node: string, approved: boolean, comment: string) =>
    post<Json>(`${run(id)}/nodes/${encodeURIComponent(node)}/decision`, { approved, comment }),
  compare: (a: string, b: string) => get<Comparison>(`/studio/compare${query({ a, b })}`),

  gateway: (project: string | undefined, by: GroupBy, hours: number) =>
    get<GatewayReport>(`/studio/gateway${query({ project, by, hours })}`),
};
