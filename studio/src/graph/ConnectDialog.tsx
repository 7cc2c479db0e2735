// Connecting by keys: first the output, then the input it may go to. What is refused says why.
import { useEffect, useState } from "react";
import { api, type Subject } from "../api/client";
import type { GraphNode, Target } from "../api/contract";
import { Choices } from "../design/Choices";
import { Dialog } from "../design/Dialog";
import { Prose } from "../design/Prose";
import { Failed, Loading } from "../design/States";
import { castText } from "./connecting";
import { endText } from "./names";

interface ConnectDialogProps {
  subject: Subject;
  node: GraphNode;
  onClose: () => void;
  onConnect: (from: string, to: string) => void;
}

export function ConnectDialog({ subject, node, onClose, onConnect }: ConnectDialogProps) {
  const ports = [...node.outputs, ...(node.error === null ? [] : [node.error])];
  const only = ports.length === 1 ? ports[0] : undefined;
  const [from, setFrom] = useState<string | null>(
    only === undefined ? null : endText({ node: node.id, port: only.name }),
  );
  if (from !== null) {
    return (
      <Dialog title={`Connect ${from} to`} onClose={onClose}>
        <Targets subject={subject} from={from} onChoose={(to) => onConnect(from, to)} />
      </Dialog>
    );
  }
  return (
    <Dialog title={`Connect from ${node.id}`} onClose={onClose}>
      <Choices
        label="Choose an output"
        empty="This node has no output."
        choices={ports.map((port) => ({
          id: endText({ node: node.id, port: port.name }),
          words: port.name,
          content: (
            <>
              <strong>{port.name}</strong>
              <span className="detail">{port.type ?? "any type"}</span>
            </>
          ),
        }))}
        onChoose={setFrom}
      />
    </Dialog>
  );
}

function Targets({ subject, from, onChoose }: { subject: Subject; from: string; onChoose: (to: string) => void }) {
  const [targets, setTargets] = useState<Target[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const { path, text } = subject;
  useEffect(() => {
    api.connectable({ path, text }, from).then(setTargets, setError);
  }, [path, text, from]);
  if (error !== null) return <Failed error={error} />;
  if (targets === null) return <Loading what="Asking the checker" />;
  const ordered = [...targets].sort((left, right) => Number(right.allowed) - Number(left.allowed));
  return (
    <Choices
      label="Choose an input"
      empty="No input fits."
      choices={ordered.map((target) => ({
        id: target.to,
        words: target.to,
        group: target.allowed ? "Possible" : "Refused",
        disabled: !target.allowed,
        content: (
          <>
            <strong className="mono">{target.to}</strong>
            {target.allowed && <span className="detail">{target.reason ?? castText(target.cast)}</span>}
            {!target.allowed && (
              <span className="reason">
                <Prose text={target.reason ?? ""} />
              </span>
            )}
          </>
        ),
      }))}
      onChoose={onChoose}
    />
  );
}
