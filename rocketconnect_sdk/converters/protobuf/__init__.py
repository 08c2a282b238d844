"""Protobuf, with its schemas in a registry."""
