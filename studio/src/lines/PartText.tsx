// A text of one line of the stave, with the part that is looked at marked in it.
import { yaml } from "@codemirror/lang-yaml";
import { foldGutter, foldKeymap } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { editorTheme } from "../text/editorTheme";
import type { Stretch } from "./parts";

interface PartTextProps {
  label: string;
  text: string;
  /** The stretches of the part that is looked at. */
  marked: readonly Stretch[];
  /** The pointer or the cursor reached an offset; nothing when it left. */
  onOffset?: (offset: number | null, pinned: boolean) => void;
  /** Whether to bring the marked part into view: not where the pointer is. */
  follow?: boolean;
}

const setMarked = StateEffect.define<readonly Stretch[]>();
const mark = Decoration.mark({ class: "cm-part-strong" });

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (current, transaction) => {
    for (const effect of transaction.effects) {
      if (!effect.is(setMarked)) continue;
      const { length } = transaction.state.doc;
      const ranges = effect.value
        .filter(({ from, to }) => from < to && to <= length)
        .map(({ from, to }) => mark.range(from, to));
      return Decoration.set(ranges, true);
    }
    return current.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function PartText({ label, text, marked, onOffset, follow = true }: PartTextProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const tell = useRef(onOffset);
  useEffect(() => {
    tell.current = onOffset;
  }, [onOffset]);

  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          yaml(),
          search(),
          marks,
          editorTheme(),
          EditorState.readOnly.of(true),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          keymap.of([...searchKeymap, ...foldKeymap]),
          EditorView.domEventHandlers({
            mousemove: (event, current) => {
              tell.current?.(current.posAtCoords({ x: event.clientX, y: event.clientY }), false);
            },
            mouseleave: () => tell.current?.(null, false),
          }),
          EditorView.updateListener.of((update) => {
            if (update.selectionSet && update.transactions.some((each) => each.isUserEvent("select"))) {
              tell.current?.(update.state.selection.main.head, true);
            }
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = null;
    };
  }, [text, label]);

  useEffect(() => {
    const editor = view.current;
    if (editor === null) return;
    editor.dispatch({ effects: setMarked.of(marked) });
    const first = marked[0];
    if (follow && first !== undefined && first.from <= editor.state.doc.length) {
      editor.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "center" }) });
    }
  }, [marked, follow, text]);

  return <div ref={host} className="part-text" />;
}
