"""Plugins of Kafka Connect on this machine: fetched or unpacked, looked at, and put where executors find them."""
