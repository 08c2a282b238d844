"""The stream of replication of a Redis: what it holds, and then its commands."""
