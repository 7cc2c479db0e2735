// The flow that is open. It stays open while other pages are shown, with its history and what is not saved yet.
import { useCallback, useEffect, useState } from "react";
import { api } from "../api/client";
import { FlowDocument } from "../document/document";

const FOLLOW_MS = 4000;

interface Open {
  path: string;
  document: FlowDocument | null;
  error: unknown;
}

export function useOpenDocument(path: string | null, readOnly: boolean) {
  const [open, setOpen] = useState<Open | null>(null);
  const [round, setRound] = useState(0);
  const known = open?.document?.state.path;

  useEffect(() => {
    if (path === null || path === known) return;
    let wanted = true;
    api.file(path).then(
      (file) => {
        if (wanted) setOpen({ path, document: new FlowDocument(path, file.text, file.hash, readOnly), error: null });
      },
      (error: unknown) => wanted && setOpen({ path, document: null, error }),
    );
    return () => {
      wanted = false;
    };
  }, [path, known, readOnly, round]);

  const document = open?.document ?? null;
  useEffect(() => {
    if (document === null) return;
    const look = () => {
      if (window.document.visibilityState === "visible") void document.follow();
    };
    const timer = setInterval(look, FOLLOW_MS);
    const leave = () => void document.save();
    window.addEventListener("focus", look);
    window.addEventListener("pagehide", leave);
    return () => {
      clearInterval(timer);
      window.removeEventListener("focus", look);
      window.removeEventListener("pagehide", leave);
      document.close();
    };
  }, [document]);

  const retry = useCallback(() => setRound((current) => current + 1), []);
  const error = path !== null && open?.path === path ? open.error : null;
  return { document, error, retry };
}
