"""Converters: records to message bytes and back."""
