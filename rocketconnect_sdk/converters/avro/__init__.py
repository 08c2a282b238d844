"""Avro, with its schemas in a registry."""
