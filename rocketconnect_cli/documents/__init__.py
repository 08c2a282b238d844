"""Connectors and positions as files, and what is different between them and what is stored."""
