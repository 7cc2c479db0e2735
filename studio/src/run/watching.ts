// A run as it goes: its view is fetched anew whenever something happened in it.
import { useCallback, useEffect, useState } from "react";
import { api } from "../api/client";
import { watchRun } from "../api/events";
import type { RunView } from "../api/contract";
import { hasEnded } from "./status";

const REST_MS = 120;
/** How often a run is looked at that nobody works on: a person elsewhere may decide on it or resume it. */
const LOOK_MS = 2000;

export interface Watched {
  view: RunView | null;
  error: unknown;
  reload: () => void;
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export function useRun(id: string): Watched {
  const [view, setView] = useState<RunView | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);

  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const isWanted = () => !controller.signal.aborted;
    const fetchView = async (): Promise<RunView | null> => {
      try {
        const next = await api.runView(id);
        if (!isWanted()) return null;
        setView(next);
        setError(null);
        return next;
      } catch (failure) {
        if (isWanted()) setError(failure);
        return null;
      }
    };
    // Events come in bursts; one look after each burst is enough.
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void fetchView();
      }, REST_MS);
    };
    const follow = async () => {
      let known = await fetchView();
      while (known !== null && !hasEnded(known.status) && isWanted()) {
        if (known.status === "running") await watchRun(id, controller.signal, soon);
        else await pause(LOOK_MS);
        if (!isWanted()) return;
        // A server that does not answer for a while may be starting anew.
        known = (await fetchView()) ?? known;
        if (known.status === "running") await pause(REST_MS);
      }
    };
    void follow();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [id, round]);

  const reload = useCallback(() => setRound((current) => current + 1), []);
  return { view, error, reload };
}
