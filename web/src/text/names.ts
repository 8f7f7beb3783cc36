/** A name as it stands in statements. */
export function quoted(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

/** A text as it stands in statements. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
