// The signature of the call in whose parentheses the cursor is, above the line.
import { StateEffect, StateField, type Extension } from "@codemirror/state";
import { EditorView, showTooltip, ViewPlugin, type Tooltip, type ViewUpdate } from "@codemirror/view";
import { complete, type Call, type Session } from "../rest/statements";

const found = StateEffect.define<{ call: Call; at: number } | null>();

const shown = StateField.define<Tooltip | null>({
  create: () => null,
  update(before, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(found)) return effect.value && tooltip(effect.value.call, effect.value.at);
    }
    return before && transaction.docChanged ? { ...before, pos: transaction.changes.mapPos(before.pos) } : before;
  },
  provide: (field) => showTooltip.from(field),
});

function tooltip(call: Call, at: number): Tooltip {
  return {
    pos: at,
    above: true,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "signature";
      for (const one of call.signatures.slice(0, 4)) dom.append(line(call, one));
      if (call.doc) dom.append(Object.assign(document.createElement("p"), { textContent: call.doc }));
      return { dom };
    },
  };
}

/** A signature with the parameter that is written now in bold. */
function line({ name, active }: Call, { label, parameters }: Call["signatures"][number]): HTMLElement {
  const dom = document.createElement("div");
  dom.append(`${name}(`);
  parameters.forEach((parameter, i) => {
    const here = i === Math.min(active, parameters.length - 1);
    dom.append(i > 0 ? ", " : "", Object.assign(document.createElement(here ? "b" : "span"), { textContent: parameter }));
  });
  dom.append(label.slice(label.lastIndexOf(")")));
  return dom;
}

/** Whether a parenthesis is open in the statement before a place, as far as one sees without a parser. */
export function inCall(before: string): boolean {
  const statement = before.slice(before.lastIndexOf(";") + 1).replace(/'[^']*'/g, "");
  return statement.split("(").length > statement.split(")").length;
}

export function signature(session: () => Session): Extension {
  const asks = ViewPlugin.fromClass(
    class {
      #timer: ReturnType<typeof setTimeout> | undefined;
      #ending: AbortController | undefined;

      constructor(private readonly view: EditorView) {}

      update(update: ViewUpdate): void {
        if (!update.docChanged && !update.selectionSet) return;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => void this.#ask(), 150);
      }

      destroy(): void {
        clearTimeout(this.#timer);
        this.#ending?.abort();
      }

      async #ask(): Promise<void> {
        this.#ending?.abort();
        const { state } = this.view;
        const at = state.selection.main.head;
        const text = state.doc.toString();
        let call: Call | null = null;
        if (this.view.hasFocus && inCall(text.slice(0, at))) {
          this.#ending = new AbortController();
          const answer = await complete(text, at, session(), this.#ending.signal).catch(() => null);
          const now = this.view.state;
          if (now.doc !== state.doc || now.selection.main.head !== at) return; // one has typed on
          call = answer?.signature ?? null;
        }
        if (call !== null || this.view.state.field(shown) !== null) this.view.dispatch({ effects: found.of(call && { call, at }) });
      }
    },
  );
  return [shown, asks];
}
