"""Transforms of single fields of a key or value."""
