const LINE = 16;

/** Bytes as lines of an address, 16 bytes in hex, and their ASCII characters. */
export function hex(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE) {
    const part = [...bytes.subarray(at, at + LINE)];
    const digits = part.map((b) => b.toString(16).padStart(2, "0")).join(" ");
    const shown = part.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits.padEnd(3 * LINE - 1)}  ${shown}`);
  }
  return lines.join("\n");
}

/** The text of bytes, null where they are not UTF-8. */
export function utf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The bytes of a key or a value; null: there are none. */
export function bytesOf(text: string | null | undefined, base64: string | undefined): Uint8Array | null {
  if (base64 !== undefined) return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  return text === null || text === undefined ? null : new TextEncoder().encode(text);
}
