// A run that waits for a person: yes or no about one question, with a comment. The decision names the digest of what is
// shown here, so it never counts for other values.
import { useState } from "react";
import { api } from "../api/client";
import { messageOf } from "../api/problem";
import type { Question } from "../api/contract";
import { Button } from "../design/Button";
import { JsonView } from "../design/JsonView";
import { Notice } from "../design/States";

interface DecisionProps {
  run: string;
  question: Question;
  onDecided: () => void;
}

export function Decision({ run, question, onDecided }: DecisionProps) {
  const [comment, setComment] = useState("");
  const [state, setState] = useState<"open" | "sending" | "sent">("open");
  const [fault, setFault] = useState<string | null>(null);
  const decide = async (approved: boolean) => {
    setState("sending");
    try {
      await api.decide(run, question, approved, comment);
      setState("sent");
      onDecided();
    } catch (error) {
      setFault(messageOf(error));
      setState("open");
    }
  };
  if (state === "sent") return <Notice>Your answer is recorded. The run continues.</Notice>;
  return (
    <Notice tone="warn">
      <div className="stack">
        {question.question !== null && <p className="asked">{question.question}</p>}
        <p className="soft">
          <code>{question.node}</code> waits for a person to decide about these values:
        </p>
        <JsonView value={question.values} label="Values" />
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
