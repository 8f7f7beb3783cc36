package ksqlpy.python;

/** A call has failed of a function with ON_ERROR = 'stop': its query ends. The engine knows it by this name. */
final class Stopped extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Stopped(Call call, CallFailed why) {
    super("function " + call.name + ": " + why.getMessage());
  }
}
