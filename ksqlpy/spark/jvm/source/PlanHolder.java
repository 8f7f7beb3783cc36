package ksqlpy.source;

/** A stream of one run of a query, which holds what is known of that run's plan: {@code speedups.KeptPlan}. */
public interface PlanHolder {
  /** Null as long as nothing is known. */
  Object plan();

  void plan(Object plan);
}
