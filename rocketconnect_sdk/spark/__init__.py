"""Spark: its types, and what sinks need of it."""
