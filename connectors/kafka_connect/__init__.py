"""Connectors of Kafka Connect, in Java, unchanged: classes of theirs behind the classes of the SDK. See docs/kafka-connect.md."""
