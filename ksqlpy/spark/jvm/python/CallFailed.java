package ksqlpy.python;

/** A call that gave no value: the user's code, its result, its worker or its time. */
final class CallFailed extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Of a call whose time limit has passed, and of one whose workers died. */
  static final String LATE = "TimeLimit";

  static final String DIED = "Worker";

  /** The name of the exception, or what else it was: one word. */
  final String kind;

  final String traceback;

  /** {@code traceback}: of Python, without the frames that are ours; empty where there is none. */
  CallFailed(String kind, String reason, String traceback) {
    super(reason, null, false, false);
    this.kind = kind;
    this.traceback = traceback;
  }
}
