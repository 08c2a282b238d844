"""Clients of RocketMQ by themselves, without connectors."""
