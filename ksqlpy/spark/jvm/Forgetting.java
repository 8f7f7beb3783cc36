package ksqlpy;

import ksqlpy.internals.ExpiringState;

/** {@link ExpiringStateStoreProvider} under its first name, which stands in checkpoints of ksqlpy 0.2 and older. */
public final class Forgetting extends ExpiringState {}
