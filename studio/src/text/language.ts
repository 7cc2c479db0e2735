// What the server's checker knows, in the editor: findings, hover, completion, definitions.
import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Diagnostic } from "@codemirror/lint";
import type { Extension } from "@codemirror/state";
import { EditorView, hoverTooltip, keymap } from "@codemirror/view";
import { api, type Subject } from "../api/client";
import type { CompletionItem, Finding } from "../api/contract";
import { applyChanges, fromEdits } from "../document/changes";
import type { FlowDocument } from "../document/document";
import { renderMarkdown } from "./markdown";

const KINDS: Record<CompletionItem["kind"], string> = {
  field: "property",
  value: "constant",
  operation: "function",
  port: "variable",
  variable: "variable",
};

export function language(flow: FlowDocument): Extension {
  const subject = (view: EditorView): Subject => ({ path: flow.state.path, text: view.state.doc.toString() });

  const complete = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const { view } = context;
    if (view === undefined) return null;
    if (!context.explicit && !/[\w.:$ {"'-]$/.test(context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos))) {
      return null;
    }
    const controller = new AbortController();
    context.addEventListener("abort", () => controller.abort());
    const answer = await api.completion(subject(view), context.pos, controller.signal).catch(() => null);
    const first = answer?.items[0];
    if (answer === null || first === undefined) return null;
    return { from: first.offset, to: first.end_offset, options: answer.items.map(option), validFor: /^[\w.$-]*$/ };
  };

  const hover = hoverTooltip(async (view, position) => {
    const answer = await api.hover(subject(view), position).catch(() => null);
    const markdown = answer?.markdown ?? null;
    if (answer === null || markdown === null) return null;
    const { range } = answer;
    return {
      pos: range?.offset ?? position,
      end: range?.end_offset ?? position,
      above: true,
      create: () => ({ dom: renderMarkdown(markdown) }),
    };
  });

  const define = (view: EditorView, position: number): boolean => {
    void api.definition(subject(view), position).then(
      ({ ranges: [range] }) => {
        if (range !== undefined) flow.reveal(range.offset, range.end_offset, true);
      },
      () => undefined,
    );
    return true;
  };

  return [
    autocompletion({ override: [complete], activateOnTypingDelay: 150, icons: false }),
    hover,
    keymap.of([{ key: "F12", run: (view) => define(view, view.state.selection.main.head) }]),
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        if (!event.ctrlKey && !event.metaKey) return false;
        const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
        return position !== null && define(view, position);
      },
    }),
  ];
}

function option(item: CompletionItem): Completion {
  return {
    label: item.label,
    detail: item.detail,
    type: KINDS[item.kind],
    apply: (view, _, from, to) =>
      view.dispatch({
        changes: { from, to, insert: item.insert },
        selection: { anchor: from + item.insert.length },
        userEvent: "input.complete",
      }),
  };
}

/** The findings as the editor marks them. */
export function marks(flow: FlowDocument, findings: readonly Finding[], length: number): Diagnostic[] {
  return findings.map((finding) => {
    const from = Math.min(finding.offset, length);
    const { fix } = finding;
    const mark: Diagnostic = {
      from,
      to: Math.max(from, Math.min(finding.end_offset, length)),
      severity: finding.severity === "note" ? "info" : finding.severity,
      source: finding.code,
      message: finding.message,
      renderMessage: () => renderFinding(finding),
    };
    if (fix !== null) {
      mark.actions = [
        { name: fix.title, apply: () => flow.replace(applyChanges(flow.state.text, fromEdits(fix.edits)), fix.title) },
      ];
    }
    return mark;
  });
}

function renderFinding(finding: Finding): HTMLElement {
  const root = document.createElement("div");
  const line = (text: string, name: string) => {
    const element = document.createElement("div");
    element.className = name;
    // Names between backticks are code.
    text.split("`").forEach((part, index) => {
      const piece = document.createElement(index % 2 === 1 ? "code" : "span");
      piece.textContent = part;
      element.append(piece);
    });
    root.append(element);
  };
  line(finding.message, "cm-finding-message");
  if (finding.help !== null) line(finding.help, "cm-finding-help");
  line(finding.code, "cm-finding-code");
  return root;
}
