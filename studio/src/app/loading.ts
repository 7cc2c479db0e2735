// A value that is fetched when a view opens, and again when asked.
import { useCallback, useEffect, useState } from "react";

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  reload: () => void;
}

/** The loader must keep its identity while it fetches the same thing. What is there stays until its successor is. */
export function useLoaded<T>(load: () => Promise<T>): Loaded<T> {
  const [result, setResult] = useState<{ of: () => Promise<T>; value: T | null; error: unknown } | null>(null);
  const [round, setRound] = useState(0);
  useEffect(() => {
    let wanted = true;
    load().then(
      (value) => wanted && setResult({ of: load, value, error: null }),
      (error: unknown) => wanted && setResult({ of: load, value: null, error }),
    );
    return () => {
      wanted = false;
    };
  }, [load, round]);
  const reload = useCallback(() => setRound((current) => current + 1), []);
  const current = result?.of === load ? result : null;
  return { value: current?.value ?? null, error: current?.error ?? null, reload };
}
