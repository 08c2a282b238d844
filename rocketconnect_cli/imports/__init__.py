"""Connectors of other systems, taken over with where they are."""
