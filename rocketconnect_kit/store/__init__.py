"""Durable tables: SQLite files or PostgreSQL."""
