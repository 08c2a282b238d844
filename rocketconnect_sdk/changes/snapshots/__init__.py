"""Snapshots of tables that are taken while the log is read."""
