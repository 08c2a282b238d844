"""Transforms of headers."""
