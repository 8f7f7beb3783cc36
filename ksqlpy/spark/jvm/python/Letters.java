package ksqlpy.python;

import org.apache.spark.TaskContext;

/**
 * Failed calls of functions with ON_ERROR = 'dead-letter', from {@link Trying} to {@link Tried}: what a row's expressions
 * call in between, they call in this thread. Elsewhere such a call is null, as a query without records has no dead letters.
 */
final class Letters {
  static final String DEAD_LETTER = "dead-letter";

  private static final ThreadLocal<Letters> HERE = ThreadLocal.withInitial(Letters::new);

  private boolean trying;
  private TaskContext task; // an earlier one may have failed in between
  private String reason;

  private Letters() {}

  static void begin() {
    Letters here = HERE.get();
    here.trying = true;
    here.task = TaskContext.get();
    here.reason = null;
  }

  /** Why the row since {@link #begin} is a dead letter; null if it is none. The first call that failed is the reason. */
  static String end() {
    Letters here = HERE.get();
    here.trying = false;
    here.task = null;
    return here.reason;
  }

  /** Notes a failed call; false where nobody makes a dead letter of its row. */
  static boolean take(Call call, CallFailed why) {
    Letters here = HERE.get();
    if (!here.trying || here.task != TaskContext.get()) {
      return false;
    }
    if (here.reason == null) {
      here.reason = "function " + call.name + ": " + why.getMessage();
    }
    return true;
  }
}
