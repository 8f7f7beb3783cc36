// Whether a query can go on behind the rows that are there, when the connection to the server was lost.

/** What says nothing of it: comments, texts and quoted names. */
const OTHER = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|`(?:[^`]|``)*`/g;

/** Of these a row depends on records before it, or the rows are counted: run again, they begin anew. */
const DEPENDS = /\b(GROUP\s+BY|JOIN|LIMIT|LAG|LEAD|UNION|WITH|FROM\s+BEGINNING|FROM\s*\()/i;

/** Whether each row of a query is made of one record: then it goes on with the next record. */
export function canGoOn(statement: string): boolean {
  return !DEPENDS.test(statement.replace(OTHER, " x "));
}
