// What the editor asks the server for while one types: diagnostics, options, and the signature of a call.
import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { linter, type Diagnostic } from "@codemirror/lint";
import { StateEffect, type Extension } from "@codemirror/state";
import { asProblem, isEnded } from "../rest/problem";
import { check, complete, type Session } from "../rest/statements";

const KINDS: Record<string, string> = {
  keyword: "keyword",
  source: "class",
  column: "property",
  function: "function",
  type: "type",
  property: "constant",
  value: "text",
  topic: "namespace",
  query: "enum",
  variable: "variable",
};

/** The text is to be checked again, although it is as it was. */
export const checkAgain = StateEffect.define<null>();

/** Marks what is wrong, as the server would refuse it. */
export function diagnostics(session: () => Session): Extension {
  let asked = new AbortController();
  return linter(
    async (view): Promise<Diagnostic[]> => {
      asked.abort(); // of a text that is not there any more
      asked = new AbortController();
      const text = view.state.doc.toString();
      if (text.trim() === "") return [];
      const { diagnostics } = await check(text, session(), asked.signal).catch(() => ({ diagnostics: [] }));
      return diagnostics.map((d) => ({
        from: Math.min(d.start, text.length),
        to: Math.min(Math.max(d.end, d.start + 1), text.length),
        severity: d.severity,
        source: d.code,
        message: d.hint ? `${d.message}\n${d.hint}` : d.message,
      }));
    },
    { delay: 200, needsRefresh: ({ transactions }) => transactions.some((t) => t.effects.some((effect) => effect.is(checkAgain))) },
  );
}

/** Offers what can stand at the cursor, by the server's parser and its catalogue. */
export function completion(session: () => Session): Extension {
  return autocompletion({ override: [(context) => options(context, session())], icons: true, activateOnTypingDelay: 60 });
}

async function options(context: CompletionContext, session: Session): Promise<CompletionResult | null> {
  const before = context.matchBefore(/[\w`.$'{]+/);
  if (!context.explicit && before === null) return null;
  const ending = new AbortController();
  context.addEventListener("abort", () => ending.abort(), { onDocChange: true });
  try {
    const found = await complete(context.state.doc.toString(), context.pos, session, ending.signal);
    return { from: found.from, filter: false, options: found.options.map(option) };
  } catch (error) {
    if (isEnded(error) || asProblem(error).status !== undefined) return null;
    throw error;
  }
}

function option({ label, type, detail, apply }: Awaited<ReturnType<typeof complete>>["options"][number]): Completion {
  return { label, type: KINDS[type] ?? "text", ...(detail && { detail }), ...(apply && { apply }) };
}
