// A statement that made something, as one that replaces it.

const BLANK = String.raw`(?:\s|--[^\n]*(?:\n|$)|/\*[\s\S]*?\*/)`;
const HEAD = new RegExp(
  String.raw`^(${BLANK}*CREATE)(?:${BLANK}+OR${BLANK}+REPLACE)?((?:${BLANK}+SOURCE)?${BLANK}+(?:STREAM|TABLE))(?:${BLANK}+IF${BLANK}+NOT${BLANK}+EXISTS)?(?=${BLANK})`,
  "i",
);

/** The statement with OR REPLACE, without IF NOT EXISTS, and with its semicolon. */
export function replacing(statement: string): string {
  const text = statement.replace(HEAD, (_, create: string, kind: string) => `${create} OR REPLACE${kind}`);
  return text.trimEnd().endsWith(";") ? text : `${text};`;
}
