"""Connectors that were deleted long ago are forgotten."""
