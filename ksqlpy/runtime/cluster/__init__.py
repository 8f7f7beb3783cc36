"""Several machines: the executors of a Spark cluster, and the standby that takes over the service of an engine."""
