// The request that a flow was last started with, for the time the page is open: it may hold private values.
import type { Json } from "../api/contract";

const requests = new Map<string, Json>();

export function lastRequest(path: string): Json {
  return requests.get(path) ?? null;
}

export function rememberRequest(path: string, request: Json): void {
  requests.set(path, request);
}
