// What can be done with a run in its status.
import { useState } from "react";
import { api } from "../api/client";
import type { RunView } from "../api/contract";
import { messageOf } from "../api/problem";
import { address, go } from "../app/route";
import { Button } from "../design/Button";
import { hasEnded } from "./status";

export function RunActions({ view, reload }: { view: RunView; reload: () => void }) {
  const [fault, setFault] = useState<string | null>(null);
  const act = async (action: () => Promise<unknown>) => {
    setFault(null);
    try {
      await action();
      reload();
    } catch (error) {
      setFault(messageOf(error));
    }
  };
  const replay = async () => {
    const begun = await api.replay(view.run_id);
    go({ page: "run", id: begun.run_id });
  };
  return (
    <>
      {fault !== null && (
        <span className="bad-text" role="alert">
          {fault}
        </span>
      )}
      {!hasEnded(view.status) && (
        <Button icon="stop" onClick={() => void act(() => api.cancel(view.run_id))}>
          Cancel
        </Button>
      )}
      {view.status === "interrupted" && (
        <Button look="primary" icon="play" onClick={() => void act(() => api.resume(view.run_id))}>
          Resume
        </Button>
      )}
      {view.status === "quarantined" && (
        <Button
          icon="play"
          title="The processes that drove this run died repeatedly. Resume it when you know that the cause is gone."
          onClick={() => void act(() => api.resume(view.run_id, true))}
        >
          Resume anyway
        </Button>
      )}
      {hasEnded(view.status) && (
        <Button icon="replay" onClick={() => void act(replay)}>
          Replay
        </Button>
      )}
      {view.replay_of !== null && (
        <a className="button" href={address({ page: "compare", a: view.replay_of, b: view.run_id })}>
          Compare
        </a>
      )}
      {view.source.path !== null && (
        <a className="button" href={address({ page: "flow", path: view.source.path })}>
          Open flow
        </a>
      )}
    </>
  );
}
