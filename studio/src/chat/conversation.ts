// The chat about one flow: what was asked, what was proposed, what became of it.
//
// Invariant: a proposal changes nothing until it is accepted.
import { api } from "../api/client";
import { Problem, messageOf } from "../api/problem";
import type { Proposed } from "../api/contract";
import { refusalOf, type FlowDocument } from "../document/document";
import { Store } from "../document/store";

export type Outcome =
  | { kind: "asking" }
  | { kind: "proposed"; proposal: Proposed; before: string }
  | { kind: "accepted"; proposal: Proposed; before: string }
  | { kind: "rejected"; proposal: Proposed; before: string }
  | { kind: "refused"; message: string; help: string | null; findings: string[]; forms: string[] };

export interface Exchange {
  id: number;
  message: string;
  outcome: Outcome;
}

export interface ConversationState {
  exchanges: readonly Exchange[];
}

export class Conversation {
  readonly store = new Store<ConversationState>({ exchanges: [] });
  private next = 1;

  async ask(flow: FlowDocument, message: string): Promise<void> {
    const id = this.next;
    this.next += 1;
    this.store.update({ exchanges: [...this.store.state.exchanges, { id, message, outcome: { kind: "asking" } }] });
    const { subject } = flow;
    try {
      const proposal = await api.chat(subject, message);
      this.settle(id, { kind: "proposed", proposal, before: subject.text });
    } catch (error) {
      const forms = error instanceof Problem ? (error.body.forms ?? []) : [];
      this.settle(id, { kind: "refused", ...refusalOf(error), message: messageOf(error), forms });
    }
  }

  /** Makes the change. On a text that moved on, the same commands are carried out on what is there. */
  async accept(flow: FlowDocument, exchange: Exchange): Promise<void> {
    if (exchange.outcome.kind !== "proposed") return;
    const { proposal, before } = exchange.outcome;
    if (flow.state.text === before) flow.replace(proposal.text, exchange.message);
    else if (!(await flow.edit(exchange.message, proposal.commands, false))) return;
    this.settle(exchange.id, { kind: "accepted", proposal, before });
  }

  reject(exchange: Exchange): void {
    if (exchange.outcome.kind !== "proposed") return;
    this.settle(exchange.id, { ...exchange.outcome, kind: "rejected" });
  }

  private settle(id: number, outcome: Outcome): void {
    const exchanges = this.store.state.exchanges.map((each) => (each.id === id ? { ...each, outcome } : each));
    this.store.update({ exchanges });
  }
}

const conversations = new Map<string, Conversation>();

/** The conversation about a file, for as long as the page is open. */
export function conversationOf(path: string): Conversation {
  const known = conversations.get(path);
  if (known !== undefined) return known;
  const conversation = new Conversation();
  conversations.set(path, conversation);
  return conversation;
}
