// The text of the flow. What is typed goes to the document; what other views do comes from it.
//
// The editor lives in a shadow root: there its style sheets are adopted by script, which a strict content security
// policy allows, while <style> elements are not. Focus alone never changes the text: Tab indents only after a click or an
// edit, and leaves the editor before. Undo and redo are the document's, shared with the other views.
import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField, type Range as MarkRange } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { useEffect, useRef } from "react";
import { difference } from "../document/changes";
import type { DocumentState, FlowDocument } from "../document/document";
import { editorTheme } from "./editorTheme";
import { language, marks } from "./language";

interface YamlEditorProps {
  document: FlowDocument;
  readOnly: boolean;
}

interface Lit {
  from: number;
  to: number;
}

const setLit = StateEffect.define<Lit | null>();
const litLine = Decoration.line({ class: "cm-node-line" });

/** The lines of the node that is selected in the graph. */
const lit = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (current, transaction) => {
    let next = current.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setLit)) next = litLines(transaction.state, effect.value);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function litLines(state: EditorState, range: Lit | null): DecorationSet {
  if (range === null) return Decoration.none;
  const { doc } = state;
  const found: MarkRange<Decoration>[] = [];
  const last = doc.lineAt(Math.min(Math.max(range.from, range.to - 1), doc.length)).number;
  for (let number = doc.lineAt(Math.min(range.from, doc.length)).number; number <= last; number += 1) {
    found.push(litLine.range(doc.line(number).from));
  }
  return Decoration.set(found);
}

export default function YamlEditor({ document: flow, readOnly }: YamlEditorProps) {
  const host = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({ doc: flow.state.text, extensions: extensions(flow, readOnly) }),
    });
    view.dom.classList.add("yaml");
    // Tab goes through the page until somebody edits here: it must not indent a line on its way.
    view.setTabFocusMode(true);
    let seen: DocumentState = { ...flow.state, analysis: null, selected: [], reveal: null };
    const follow = () => {
      const before = seen;
      seen = flow.state;
      show(view, before, seen);
      if (before.analysis !== seen.analysis && seen.analysis !== null) {
        const { diagnostics } = seen.analysis;
        view.dispatch(setDiagnostics(view.state, marks(flow, diagnostics, view.state.doc.length)));
      }
    };
    follow();
    const stop = flow.store.subscribe(follow);
    return () => {
      stop();
      view.destroy();
    };
  }, [flow, readOnly]);

  return <div ref={host} className="yaml-editor" data-testid="yaml" />;
}

function extensions(flow: FlowDocument, readOnly: boolean) {
  const run = (action: () => void) => () => {
    action();
    return true;
  };
  return [
    lineNumbers(),
    lintGutter(),
    foldGutter(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    drawSelection(),
    indentOnInput(),
    indentUnit.of("  "),
    bracketMatching(),
    closeBrackets(),
    highlightSelectionMatches(),
    yaml(),
    lit,
    language(flow),
    editorTheme(),
    EditorState.readOnly.of(readOnly),
    EditorView.contentAttributes.of({ "aria-label": "Text of the flow", tabindex: "0" }),
    keymap.of([
      { key: "Mod-z", run: run(() => flow.undo()), preventDefault: true },
      { key: "Mod-y", run: run(() => flow.redo()), preventDefault: true },
      { key: "Mod-Shift-z", run: run(() => flow.redo()), preventDefault: true },
      { key: "Mod-s", run: run(() => void flow.save()), preventDefault: true },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      ...foldKeymap,
      ...lintKeymap,
      indentWithTab,
      ...defaultKeymap,
    ]),
    EditorView.domEventHandlers({
      blur: (_, view) => view.setTabFocusMode(true),
      pointerdown: (_, view) => view.setTabFocusMode(false),
    }),
    EditorView.updateListener.of((update) => {
      if (update.transactions.some((each) => each.isUserEvent("input") || each.isUserEvent("delete"))) {
        update.view.setTabFocusMode(false);
      }
      if (update.docChanged) flow.type(update.state.doc.toString());
      if (update.selectionSet && update.transactions.some((each) => each.isUserEvent("select"))) {
        flow.selectAt(update.state.selection.main.head);
      }
    }),
  ];
}

/** Brings the editor to the document's state. */
function show(view: EditorView, before: DocumentState, now: DocumentState): void {
  const change = difference(view.state.doc.toString(), now.text);
  if (change !== null) {
    view.dispatch({ changes: { from: change.offset, to: change.end_offset, insert: change.insert } });
  }
  if (before.selected !== now.selected || before.graph !== now.graph) {
    const node = now.graph?.nodes.find((each) => each.id === now.selected.at(-1));
    const range = node?.range ?? null;
    view.dispatch({ effects: setLit.of(range === null ? null : { from: range.offset, to: range.end_offset }) });
    if (range !== null && before.selected !== now.selected && now.selectedBy === "graph") {
      view.dispatch({ effects: EditorView.scrollIntoView(range.offset, { y: "start", yMargin: 40 }) });
    }
  }
  if (before.reveal !== now.reveal && now.reveal !== null) {
    const anchor = Math.min(now.reveal.offset, view.state.doc.length);
    const head = Math.min(now.reveal.endOffset, view.state.doc.length);
    view.dispatch({
      selection: { anchor, head },
      effects: EditorView.scrollIntoView(anchor, { y: "center" }),
    });
    if (now.reveal.focus) view.focus();
  }
}
