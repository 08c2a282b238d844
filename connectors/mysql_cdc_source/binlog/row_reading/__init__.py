"""Rows of the log, by code that is made for their columns."""
