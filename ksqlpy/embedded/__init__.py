"""What one command starts for you: Java, jars, a Kafka broker, and the folders that go with it."""
