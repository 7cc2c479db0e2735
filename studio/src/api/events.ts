// Server-sent events read by `fetch`: a key travels in a header, which EventSource cannot send.
import { headers } from "./client";
import { isAbort, problemFrom } from "./problem";

export interface StreamEvent {
  id: string | null;
  name: string;
  data: string;
}

/** Takes text as it arrives and gives the events that are whole. */
export class EventParser {
  private rest = "";

  push(text: string): StreamEvent[] {
    this.rest += text;
    const events: StreamEvent[] = [];
    for (;;) {
      const end = /\r?\n\r?\n/.exec(this.rest);
      if (end === null) return events;
      const event = parseEvent(this.rest.slice(0, end.index));
      this.rest = this.rest.slice(end.index + end[0].length);
      if (event !== null) events.push(event);
    }
  }
}

function parseEvent(text: string): StreamEvent | null {
  let id: string | null = null;
  let name = "message";
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const field = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") id = value;
    else if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { id, name, data: data.join("\n") };
}

/** Follows the events of a run until it has ended. A lost connection is taken up again after the last event. */
export async function watchRun(run: string, signal: AbortSignal, tell: (event: StreamEvent) => void): Promise<void> {
  let last: string | null = null;
  let pause = 500;
  while (!signal.aborted) {
    try {
      const more: Record<string, string> = last === null ? {} : { "Last-Event-ID": last };
      const response = await fetch(`/runs/${encodeURIComponent(run)}/events`, {
        headers: { ...headers(), ...more, accept: "text/event-stream" },
        signal,
        cache: "no-store",
      });
      if (!response.ok || response.body === null) throw problemFrom(response.status, await response.text());
      const parser = new EventParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const event of parser.push(value)) {
          last = event.id ?? last;
          pause = 500;
          tell(event);
          if (event.name === "ended" || event.name === "waiting") return;
        }
      }
      return;
    } catch (error) {
      if (isAbort(error)) return;
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, 8000);
    }
  }
}
