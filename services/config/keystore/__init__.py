"""The keystore: secrets by name, sealed with keys that the store does not have."""
