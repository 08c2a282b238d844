"""Connections to name servers and brokers: requests under way, answers, time limits."""
