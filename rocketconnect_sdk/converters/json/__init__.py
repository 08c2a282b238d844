"""JSON: with the envelope of RocketMQ Connect and Kafka Connect, plain, and with a registry."""
