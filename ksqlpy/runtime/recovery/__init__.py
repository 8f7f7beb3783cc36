"""What brings queries back after a death of Spark's JVM."""
