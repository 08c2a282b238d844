"""Rows that are there before the log, and beside it."""
