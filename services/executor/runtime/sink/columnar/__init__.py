"""Sinks that write whole batches as columns."""
