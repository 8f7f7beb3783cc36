"""The Java classes that Spark and Kafka load from ksqlpy, and how they are compiled."""
