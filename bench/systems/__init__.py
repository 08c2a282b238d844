"""Connectors of other systems beside the client library of the system alone, one module a system."""
