package ksqlpy.python;

/**
 * A call that was not made, or not to its end: there is no Python, or the task is to end. The task fails, and its query is
 * tried again. It is an Error as {@link Stopped} is: no result may be made without the call.
 */
final class Unasked extends Error {
  private static final long serialVersionUID = 1L;

  Unasked(String why, Throwable cause) {
    super(why, cause);
  }
}
