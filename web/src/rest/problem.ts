/** What the server tells of an error, in `ksqlpy` of its answer. */
interface Told {
  code?: string | null;
  message?: string | null;
  line?: number | null;
  column?: number | null;
  length?: number | null;
  hint?: string | null;
  rendered?: string | null;
}

/** An answer that is an error, or no answer. */
export class Problem extends Error {
  override readonly name = "Problem";

  constructor(
    message: string,
    readonly code: string,
    /** The status of HTTP; 0: there was no answer. */
    readonly status: number,
    readonly hint: string | null = null,
    /** The line of the statement with a caret below, as the shell prints it. */
    readonly rendered: string | null = null,
    readonly line: number | null = null,
    readonly column: number | null = null,
    /** The body of the answer. */
    readonly answer: unknown = null,
  ) {
    super(message);
  }
}

/** The problem that the body of an answer tells. */
export function problemOf(body: unknown, status: number): Problem {
  if (typeof body !== "object" || body === null) return new Problem(`the answer has the status ${status}`, "http", status);
  const { message, error_code, ksqlpy } = body as { message?: string; error_code?: number; ksqlpy?: Told };
  if (error_code !== undefined) status = Math.floor(error_code / 100); // an error in a stream comes with 200
  return new Problem(
    ksqlpy?.message ?? message ?? `the answer has the status ${status}`,
    ksqlpy?.code ?? "http",
    status,
    ksqlpy?.hint,
    ksqlpy?.rendered,
    ksqlpy?.line,
    ksqlpy?.column,
    body,
  );
}

/** Any failure as a problem. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (isEnded(error)) return new Problem("the server does not answer", "unreachable", 0);
  return new Problem(error instanceof Error ? error.message : String(error), "page", 0);
}

/** Whether an error is only that the page has ended the request. */
export function isEnded(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
