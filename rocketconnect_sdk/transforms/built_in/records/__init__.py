"""Transforms of whole records, and of where they go."""
