package ksqlpy;

import ksqlpy.internals.ExpiringState;

/**
 * The state store of queries, under the name that stands in their checkpoints: Spark notes the class of the first start
 * in the offset log, and takes it from there at each restart. So this name stays, whatever is behind it.
 */
public final class ExpiringStateStoreProvider extends ExpiringState {}
