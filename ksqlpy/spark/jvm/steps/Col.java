package ksqlpy.steps;

/**
 * The columns that steps take and give, as {@code ksqlpy/spark/columns.py} describes them under the same names ({@code
 * Col} and {@code StepCol} there). A test compares both.
 */
final class Col {
  static final String RAW = "__raw";
  static final String REASON = "__reason";
  static final String DELETED = "__del";
  static final String HEADERS = "__headers";
  static final String ROWTIME = "__ts";
  static final String PARTITION = "__partition";
  static final String OFFSET = "__offset";
  static final String PROGRESS = "__progress";
  static final String TURN = "__turn";
  static final String ROW = "__row";
  static final String SIDE = "__side";
  static final String KEY = "__key";
  static final String NUMBER = "__number";
  static final String LEFT = "__left";
  static final String RIGHT = "__right";
  static final String PK = "__pk";
  static final String FK = "__fk";
  static final String OP = "__op";
  static final String VERSION = "__version";
  static final String END = "__end";
  static final String RESULT = "__result";
  static final String NEAR = "__near";
  static final String RANK = "__rank";

  private Col() {}
}
