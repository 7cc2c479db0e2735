// Where the page is, kept in the part of the address after `#`.
import { useSyncExternalStore } from "react";

export type Route =
  | { page: "files" }
  | { page: "flow"; path: string; line?: number; column?: number }
  | { page: "lines"; path: string }
  | { page: "runs"; flow?: string }
  | { page: "run"; id: string; node?: string }
  | { page: "compare"; a: string; b: string }
  | { page: "gateway" };

export function parseRoute(hash: string): Route {
  const [page = "", search = ""] = hash.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(search);
  const text = (name: string) => query.get(name) ?? "";
  switch (page) {
    case "flow":
      if (text("path") === "") return { page: "files" };
      return { page: "flow", path: text("path"), ...count("line", query), ...count("column", query) };
    case "lines":
      return text("path") === "" ? { page: "files" } : { page: "lines", path: text("path") };
    case "runs":
      return text("flow") === "" ? { page: "runs" } : { page: "runs", flow: text("flow") };
    case "run":
      if (text("id") === "") return { page: "runs" };
      return text("node") === "" ? { page: "run", id: text("id") } : { page: "run", id: text("id"), node: text("node") };
    case "compare":
      return { page: "compare", a: text("a"), b: text("b") };
    case "gateway":
      return { page: "gateway" };
    default:
      return { page: "files" };
  }
}

function count<N extends string>(name: N, query: URLSearchParams): Partial<Record<N, number>> {
  const value = Number(query.get(name));
  if (!Number.isInteger(value) || value < 1) return {};
  return { [name]: value } as Partial<Record<N, number>>;
}

export function address(route: Route): string {
  const { page, ...rest } = route;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) query.set(name, String(value));
  const search = query.toString().replaceAll("%2F", "/");
  return `#/${page === "files" ? "" : page}${search === "" ? "" : `?${search}`}`;
}

export function go(route: Route): void {
  window.location.hash = address(route);
}

/** Changes the address without a step in the browser's history. */
export function stay(route: Route): void {
  window.history.replaceState(null, "", address(route));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(
    (tell) => {
      window.addEventListener("hashchange", tell);
      return () => window.removeEventListener("hashchange", tell);
    },
    () => window.location.hash,
  );
  return parseRoute(hash);
}
