package ksqlpy.python;

/**
 * A call has failed of a function with ON_ERROR = 'stop': its query ends. The engine knows it by this name. It is an Error
 * since Spark makes null of exceptions in the arguments of other functions.
 */
final class Stopped extends Error {
  private static final long serialVersionUID = 1L;

  Stopped(Call call, CallFailed why) {
    super("function " + call.name + ": " + why.getMessage());
  }
}
