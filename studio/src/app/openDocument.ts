// The flow that is open. It stays open while other pages are shown, with its history and what is not saved yet.
//
// What happens to the page is passed on from here: it goes away, it is looked at again, the network is back, another tab
// saved.
import { useCallback, useEffect, useState } from "react";
import { api } from "../api/client";
import type { Session } from "../api/contract";
import type { FlowDocument } from "../document/document";
import { BrowserDrafts } from "../document/draftStore";
import { scopeOf } from "../document/drafts";
import { OpenDocuments } from "../document/openDocuments";

const FOLLOW_MS = 4000;
/** Other tabs of the same server hear here that a flow was saved. */
const CHANNEL = "stave-studio-saved";

const drafts = new BrowserDrafts();
const channel = new BroadcastChannel(CHANNEL);

export const openDocuments = new OpenDocuments({
  checker: api,
  drafts,
  files: {
    file: api.file,
    write: async (path, text, hash, signal) => {
      const written = await api.write(path, text, hash, signal);
      channel.postMessage(path);
      return written;
    },
  },
  now: () => Date.now(),
  random: () => Math.random(),
});

interface Open {
  path: string;
  document: FlowDocument | null;
  error: unknown;
}

export function useOpenDocument(path: string | null, session: Session) {
  const [open, setOpen] = useState<Open | null>(null);
  const [round, setRound] = useState(0);
  const known = open?.document?.state.path;

  useEffect(() => {
    if (path === null || path === known) return;
    let wanted = true;
    openDocuments.open(path, scopeOf(session.tenant, session.projects, path), session.read_only).then(
      (document) => {
        if (!wanted) return;
        openDocuments.show(document);
        setOpen({ path, document, error: null });
      },
      (error: unknown) => wanted && setOpen({ path, document: null, error }),
    );
    return () => {
      wanted = false;
    };
  }, [path, known, session, round]);

  usePage();
  const retry = useCallback(() => setRound((current) => current + 1), []);
  const document = open?.document ?? null;
  const error = path !== null && open?.path === path ? open.error : null;
  return { document, error, retry };
}

/** Reports page events to the documents. */
function usePage(): void {
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") openDocuments.wake();
    };
    const change = () => (document.visibilityState === "visible" ? openDocuments.wake() : openDocuments.flush());
    const wake = () => openDocuments.wake();
    const leave = () => openDocuments.flush();
    const ask = (event: BeforeUnloadEvent) => {
      leave();
      if (openDocuments.isUnsaved) event.preventDefault();
    };
    const timer = setInterval(look, FOLLOW_MS);
    channel.addEventListener("message", wake);
    document.addEventListener("visibilitychange", change);
    const listeners: [string, EventListener][] = [
      ["focus", look],
      ["online", wake],
      ["pageshow", look],
      ["pagehide", leave],
      ["beforeunload", ask],
    ];
    for (const [name, listener] of listeners) window.addEventListener(name, listener);
    return () => {
      clearInterval(timer);
      channel.removeEventListener("message", wake);
      document.removeEventListener("visibilitychange", change);
      for (const [name, listener] of listeners) window.removeEventListener(name, listener);
    };
  }, []);
}
