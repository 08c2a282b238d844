"""Schema registries: what stands in a message is the number of a schema, and the registry has the schema."""

from rocketconnect_sdk.registry.client import Registry
from rocketconnect_sdk.registry.model import COMPATIBILITIES, Incompatible, Reference, RegisteredSchema, Unknown, Version
from rocketconnect_sdk.registry.options import OPTIONS

__all__ = ["COMPATIBILITIES", "OPTIONS", "Incompatible", "Reference", "RegisteredSchema", "Registry", "Unknown", "Version"]
