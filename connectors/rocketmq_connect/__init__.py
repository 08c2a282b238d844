"""Connectors of RocketMQ Connect, in Java, unchanged: classes of theirs behind the classes of the SDK. See docs/migrate.md."""
