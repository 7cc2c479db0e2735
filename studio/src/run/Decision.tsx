// A run that waits for a person: yes or no, with a comment.
import { useState } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/problem";
import { Button } from "../design/Button";
import { Notice } from "../design/States";

interface DecisionProps {
  run: string;
  node: string;
  /** What the flow asks. */
  question: string | null;
  onDecided: () => void;
}

export function Decision({ run, node, question, onDecided }: DecisionProps) {
  const [comment, setComment] = useState("");
  const [state, setState] = useState<"open" | "sending" | "sent">("open");
  const [fault, setFault] = useState<string | null>(null);
  const decide = async (approved: boolean) => {
    setState("sending");
    try {
      await api.decide(run, node, approved, comment);
      setState("sent");
      onDecided();
    } catch (error) {
      setFault(messageOf(error));
      setState("open");
    }
  };
  if (state === "sent") return <Notice>Your answer is recorded. The run goes on.</Notice>;
  return (
    <Notice tone="warn">
      <div className="stack">
        {question !== null && <p className="asked">{question}</p>}
        <p className="soft">The run waits for a person to decide.</p>
        <input
          className="field"
          aria-label="Comment"
          placeholder="Comment (optional)"
          value={comment}
          onChange={(event) => setComment(event.target.value)}
        />
        <div className="row">
          <Button look="primary" icon="check" disabled={state !== "open"} onClick={() => void decide(true)}>
            Approve
          </Button>
          <Button look="danger" icon="close" disabled={state !== "open"} onClick={() => void decide(false)}>
            Reject
          </Button>
        </div>
        {fault !== null && <p className="bad-text">{fault}</p>}
      </div>
    </Notice>
  );
}
