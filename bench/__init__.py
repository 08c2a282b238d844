"""Benchmarks of RocketConnect."""
