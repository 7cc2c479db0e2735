// What a view shows when it has nothing, waits, or failed.
import type { ReactNode } from "react";
import { messageOf } from "../api/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./Icon";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div className="empty" role="status">
      <div className="spinner" aria-hidden="true" />
      <span>{what}</span>
    </div>
  );
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="empty" role="alert">
      <h2>That did not work</h2>
      <p>{messageOf(error)}</p>
      {retry !== undefined && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

type Tone = "plain" | "bad" | "warn";
const ICON: Record<Tone, IconName> = { plain: "info", bad: "error", warn: "warning" };

export function Notice({ tone = "plain", children, actions }: { tone?: Tone; children: ReactNode; actions?: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      <Icon name={ICON[tone]} />
      <div className="grow">{children}</div>
      {actions}
    </div>
  );
}
