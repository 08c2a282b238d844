"""Sinks that make records durable later than they take them."""
