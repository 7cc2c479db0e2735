// Changing the flow by a sentence: each answer is a proposal to accept or to reject.
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Session } from "../api/contract";
import { Button } from "../design/Button";
import { Prose } from "../design/Prose";
import { Notice } from "../design/States";
import type { FlowDocument } from "../document/document";
import { useStore } from "../document/store";
import "./chat.css";
import { conversationOf, type Conversation, type Exchange } from "./conversation";
import { SemanticDiff } from "./SemanticDiff";
import { TextDiff } from "./TextDiff";

interface ChatPanelProps {
  document: FlowDocument;
  session: Session;
  readOnly: boolean;
}

export function ChatPanel({ document, session, readOnly }: ChatPanelProps) {
  const path = useStore(document.store, (state) => state.path);
  const conversation = conversationOf(path);
  const exchanges = useStore(conversation.store, (state) => state.exchanges);
  const [message, setMessage] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const suggest = (text: string) => {
    setMessage(text);
    field.current?.focus();
  };
  const last = exchanges.at(-1)?.outcome.kind;
  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" });
  }, [exchanges.length, last]);

  const send = (text: string) => {
    const trimmed = text.trim();
    if (trimmed === "" || last === "asking") return;
    setMessage("");
    void conversation.ask(document, trimmed);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send(message);
  };

  return (
    <section className="chat" aria-label="Chat">
      <div className="exchanges scroll" role="log" aria-live="polite">
        {exchanges.length === 0 && <Beginning session={session} onChoose={suggest} />}
        {exchanges.map((exchange) => (
          <ExchangeView
            key={exchange.id}
            exchange={exchange}
            conversation={conversation}
            document={document}
            readOnly={readOnly}
            onChoose={suggest}
          />
        ))}
        <div ref={end} />
      </div>
      <form
        className="ask"
        onSubmit={(event) => {
          event.preventDefault();
          send(message);
        }}
      >
        <textarea
          ref={field}
          className="field"
          rows={2}
          aria-label="What should change"
          placeholder="What should change?"
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <Button submit look="primary" disabled={message.trim() === "" || last === "asking"}>
          Ask
        </Button>
      </form>
    </section>
  );
}

function Beginning({ session, onChoose }: { session: Session; onChoose: (message: string) => void }) {
  const { model, forms } = session.chat;
  return (
    <div className="beginning">
      <h2>Say what should change</h2>
      <p className="soft">
        {model === null
          ? "These sentences, and close variants, are understood without a model."
          : `These sentences are understood without a model; others are put to ${model}.`}{" "}
        You see the change before it is made.
      </p>
      <ul>
        {forms.map(plainForm).map((form) => (
          <li key={form}>
            <button type="button" className="form" onClick={() => onChoose(form)}>
              {form}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The first of the ways a form can be said, without what may be left out. */
function plainForm(form: string): string {
  return (form.split(" | ")[0] ?? form).replace(/\s*\[[^\]]*\]/g, "");
}

interface ExchangeViewProps {
  exchange: Exchange;
  conversation: Conversation;
  document: FlowDocument;
  readOnly: boolean;
  onChoose: (message: string) => void;
}

function ExchangeView({ exchange, conversation, document, readOnly, onChoose }: ExchangeViewProps) {
  const { outcome } = exchange;
  return (
    <article className="exchange">
      <p className="said">{exchange.message}</p>
      {outcome.kind === "asking" && (
        <p className="row soft" role="status">
          <span className="spinner" aria-hidden="true" /> Working out the change
        </p>
      )}
      {outcome.kind === "refused" && (
        <Notice tone="warn">
          <p>
            <Prose text={outcome.message} />
          </p>
          {outcome.help !== null && (
            <p className="soft">
              <Prose text={outcome.help} />
            </p>
          )}
          {outcome.findings.map((finding) => (
            <p key={finding} className="soft">
              <Prose text={finding} />
            </p>
          ))}
          {outcome.forms.slice(0, 4).map(plainForm).map((form) => (
            <button key={form} type="button" className="form" onClick={() => onChoose(form)}>
              {form}
            </button>
          ))}
        </Notice>
      )}
      {(outcome.kind === "proposed" || outcome.kind === "accepted" || outcome.kind === "rejected") && (
        <div className={`proposal card ${outcome.kind}`}>
          <SemanticDiff shown={outcome.proposal.shown} />
          <details open={outcome.kind === "proposed"}>
            <summary>Lines of the file</summary>
            <TextDiff before={outcome.before} after={outcome.proposal.text} />
          </details>
          <footer>
            {outcome.kind === "proposed" ? (
              <>
                <Button
                  look="primary"
                  icon="check"
                  disabled={readOnly}
                  onClick={() => void conversation.accept(document, exchange)}
                >
                  Accept
                </Button>
                <Button icon="close" onClick={() => conversation.reject(exchange)}>
                  Reject
                </Button>
              </>
            ) : (
              <span className={`badge ${outcome.kind === "accepted" ? "good" : ""}`}>
                {outcome.kind === "accepted" ? "Accepted" : "Rejected"}
              </span>
            )}
            <span className="faint">{outcome.proposal.by === "model" ? "by a model" : "without a model"}</span>
          </footer>
        </div>
      )}
    </article>
  );
}
