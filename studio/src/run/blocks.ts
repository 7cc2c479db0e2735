// How the blocks of a prompt are coloured, and how wide each is in the bar.
import type { Block } from "../api/contract";
import { tokens } from "./amounts";

export type Colouring = "provenance" | "sensitivity" | "cache";

/** The tones of each colouring, with what the legend says. */
export const colourings: Record<Colouring, { title: string; tones: Record<string, string> }> = {
  provenance: {
    title: "Provenance",
    tones: {
      system: "system",
      developer: "the flow's author",
      user: "the request",
      retrieval: "retrieved",
      memory: "session memory",
      tool: "a tool",
    },
  },
  sensitivity: {
    title: "Sensitivity",
    tones: { public: "public", private: "private", restricted: "restricted" },
  },
  cache: {
    title: "Cache",
    tones: { read: "read from the cache", written: "written to the cache", stable: "stable, not cached", changing: "changes with each request" },
  },
};

export function toneOf(block: Pick<Block, "provenance" | "sensitivity" | "cache" | "stable">, colouring: Colouring): string {
  switch (colouring) {
    case "provenance":
      return block.provenance;
    case "sensitivity":
      return block.sensitivity;
    case "cache":
      if (block.cache !== "none") return block.cache;
      return block.stable ? "stable" : "changing";
  }
}

/** Blocks that follow each other in one role are one message. */
export function messagesOf(blocks: readonly Block[]): Block[][] {
  const messages: Block[][] = [];
  for (const block of blocks) {
    const last = messages.at(-1);
    const before = last?.at(-1);
    if (last !== undefined && before?.role === block.role && before.type === block.type) last.push(block);
    else messages.push([block]);
  }
  return messages;
}

/** What there is to say about a block, in one line. */
export function describe(block: Block): string {
  const parts = [block.name ?? block.type, `from ${colourings.provenance.tones[block.provenance] ?? block.provenance}`, block.sensitivity];
  if (block.tokens !== null) parts.push(tokens(block.tokens));
  if (block.cache !== "none") parts.push(`cache ${block.cache}`);
  if (block.origin !== null) parts.push(`line ${block.origin.line}`);
  return parts.join(", ");
}

/** Tokens where they are known, else a guess from the length; never nothing, so that it can be seen. */
export function shareOf(block: Pick<Block, "tokens" | "content">): number {
  return Math.max(1, block.tokens ?? block.content.length / 4);
}
