// How the text looks. Colours come from the page's tokens, which reach into the shadow root.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--surface)", color: "var(--text)", fontSize: "var(--size)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": {
    fontFamily: "var(--mono)",
    lineHeight: "1.55",
    scrollbarWidth: "thin",
    scrollbarColor: "var(--line-strong) transparent",
  },
  ".cm-content": { padding: "6px 0 40vh", caretColor: "var(--text)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.2em", padding: "0 6px 0 4px", fontSize: "0.92em" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--text) 4%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 24%, transparent) !important",
  },
  ".cm-matchingBracket, .cm-nonmatchingBracket": {
    backgroundColor: "color-mix(in srgb, var(--accent) 20%, transparent)",
    outline: "none",
  },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", border: "none", color: "var(--text-faint)" },
  ".cm-foldGutter .cm-gutterElement": { color: "transparent", transition: "color 0.15s" },
  ".cm-gutters:hover .cm-foldGutter .cm-gutterElement, .cm-foldGutter .cm-gutterElement:has([title='Unfold line'])": {
    color: "var(--text-faint)",
  },
  ".cm-node-line": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  ".cm-part": { backgroundColor: "color-mix(in srgb, var(--accent) 12%, transparent)" },
  ".cm-part-strong": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-revealed": { backgroundColor: "color-mix(in srgb, var(--warn) 22%, transparent)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: "6px 8px", fontFamily: "var(--sans)" },
  ".cm-textfield": {
    border: "1px solid var(--line-strong)",
    borderRadius: "4px",
    backgroundColor: "var(--surface)",
    color: "inherit",
    fontSize: "inherit",
  },
  ".cm-button": {
    border: "1px solid var(--line-strong)",
    borderRadius: "4px",
    backgroundColor: "var(--surface)",
    backgroundImage: "none",
    color: "inherit",
    fontSize: "inherit",
  },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--accent) 14%, transparent)" },
  ".cm-searchMatch": { backgroundColor: "color-mix(in srgb, var(--warn) 30%, transparent)" },
  ".cm-searchMatch-selected": { backgroundColor: "color-mix(in srgb, var(--warn) 55%, transparent)" },
  ".cm-tooltip": {
    maxWidth: "min(34rem, 90vw)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    boxShadow: "var(--shadow)",
    fontFamily: "var(--sans)",
    overflow: "hidden",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "0.92em", maxHeight: "16em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "2px 8px !important" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-completionDetail": { marginLeft: "1em", color: "var(--text-faint)", fontStyle: "normal", fontFamily: "var(--sans)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-help": { padding: "8px 10px", lineHeight: "1.45" },
  ".cm-help p": { margin: "0 0 6px" },
  ".cm-help p:last-child, .cm-help ul:last-child, .cm-help pre:last-child": { marginBottom: "0" },
  ".cm-help ul": { margin: "0 0 6px", paddingLeft: "1.2em" },
  ".cm-help code": { fontFamily: "var(--mono)", fontSize: "0.92em" },
  ".cm-help pre": { margin: "0 0 6px", fontFamily: "var(--mono)", fontSize: "0.92em", whiteSpace: "pre-wrap" },
  ".cm-diagnostic": { padding: "6px 10px", borderLeft: "3px solid", whiteSpace: "normal" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--info)" },
  ".cm-diagnosticAction": {
    padding: "2px 8px",
    border: "1px solid var(--line-strong)",
    borderRadius: "4px",
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    font: "inherit",
  },
  ".cm-finding-code": { color: "var(--text-faint)", fontFamily: "var(--mono)", fontSize: "0.9em" },
  ".cm-diagnostic code": { fontFamily: "var(--mono)", fontSize: "0.92em" },
  ".cm-finding-help": { color: "var(--text-soft)" },
  ".cm-lintRange": { backgroundImage: "none", paddingBottom: "0" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--bad)", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--warn)", textUnderlineOffset: "3px" },
  ".cm-lintRange-info": { textDecoration: "underline dotted var(--info)", textUnderlineOffset: "3px" },
  ".cm-gutter-lint": { width: "0.9em" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0.42em 0.1em" },
  ".cm-lint-marker": { width: "0.6em", height: "0.6em", borderRadius: "50%", content: '""' },
  ".cm-lint-marker-error": { backgroundColor: "var(--bad)", content: '""' },
  ".cm-lint-marker-warning": { backgroundColor: "var(--warn)", content: '""' },
  ".cm-lint-marker-info": { backgroundColor: "var(--info)", content: '""' },
});

const letters = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--kind-data)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--kind-code)" },
  { tag: tags.comment, color: "var(--text-faint)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--text-soft)" },
  { tag: [tags.labelName, tags.typeName, tags.meta], color: "var(--kind-model)" },
  { tag: tags.content, color: "var(--text)" },
]);

export function editorTheme(): Extension {
  return [look, syntaxHighlighting(letters)];
}
