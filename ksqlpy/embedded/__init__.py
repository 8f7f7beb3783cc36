"""What one command starts for you: Java, jars, a Kafka broker."""
