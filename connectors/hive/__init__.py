"""Hive's metastore: how it is spoken to, and what it says of tables."""
