import { SQLDialect } from "@codemirror/lang-sql";
import { functions, keywords } from "virtual:words";

const TYPES = "boolean int integer bigint double decimal string varchar bytes date time timestamp array map struct";

/** The words of the language, for colours. */
export const dialect = SQLDialect.define({
  keywords: keywords.join(" "),
  builtin: functions.join(" "),
  types: TYPES,
  identifierQuotes: "`\"",
  doubleDollarQuotedStrings: true,
  operatorChars: "*+-%<>!=&|/",
});
