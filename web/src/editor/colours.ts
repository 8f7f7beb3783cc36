import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const code = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
]);

const frame = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--page)", fontSize: "14px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--stripe)" },
  ".cm-placeholder": { color: "var(--dim)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--raised)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--on-accent)", backgroundColor: "var(--accent)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.75", marginLeft: "1em" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  ".signature": { padding: "4px 8px", fontFamily: "var(--mono)", maxWidth: "40rem" },
  ".signature p": { margin: "4px 0 0", fontFamily: "var(--sans)", color: "var(--dim)" },
  ".cm-panels, .cm-panel button, .cm-textfield": { color: "var(--text)", backgroundColor: "var(--raised)", backgroundImage: "none" },
});

/** How code looks, in both themes: the colours are those of the page. */
export const colours = [frame, syntaxHighlighting(code)];
