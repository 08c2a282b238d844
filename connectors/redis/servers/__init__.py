"""Several servers as one: Sentinel and clusters."""
