package ksqlpy.python;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Calls that gave no value, and what functions print. */
final class Failures {
  private static final Logger LOG = LoggerFactory.getLogger(Failures.class);

  private Failures() {}

  static void printed(Call call, String text) {
    LOG.warn("function {} prints: {}", call.name, text);
  }

  static void failed(Call call, CallFailed why) {
    LOG.warn("function {}: {}\n{}", call.name, why.getMessage(), why.traceback);
  }
}
