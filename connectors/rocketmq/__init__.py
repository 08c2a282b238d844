"""Another cluster of RocketMQ."""
