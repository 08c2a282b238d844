"""Workloads of the control plane: starts, rest, assignment, commits, failover."""
