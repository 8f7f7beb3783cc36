// SET, UNSET, DEFINE and UNDEFINE: they change what goes with the later requests of a tab.

const VALUE = String.raw`'((?:[^']|'')*)'`;
const SET = new RegExp(String.raw`^SET\s+${VALUE}\s*=\s*${VALUE}\s*;?$`, "i");
const UNSET = new RegExp(String.raw`^UNSET\s+${VALUE}\s*;?$`, "i");
const DEFINE = new RegExp(String.raw`^DEFINE\s+(\w+)\s*=\s*${VALUE}\s*;?$`, "i");
const UNDEFINE = /^UNDEFINE\s+(\w+)\s*;?$/i;

interface Changed {
  properties: Record<string, string>;
  variables: Record<string, string>;
}

/** Does such a statement; gives what is to be said of it, null for another statement. */
export function change(statement: string, on: Changed): string | null {
  let found = SET.exec(statement);
  if (found) {
    on.properties[text(found[1])] = text(found[2]);
    return `${text(found[1])} is ${text(found[2])} for later statements of this tab`;
  }
  if ((found = UNSET.exec(statement))) {
    delete on.properties[text(found[1])];
    return `${text(found[1])} has the server's value again`;
  }
  if ((found = DEFINE.exec(statement))) {
    on.variables[found[1] ?? ""] = text(found[2]);
    return `\${${found[1]}} is ${text(found[2])} in later statements of this tab`;
  }
  if ((found = UNDEFINE.exec(statement))) {
    delete on.variables[found[1] ?? ""];
    return `\${${found[1]}} is not defined any more`;
  }
  return null;
}

function text(quoted: string | undefined): string {
  return (quoted ?? "").replaceAll("''", "'");
}
