"""Many values at once: their types in Arrow, their texts, their bodies."""
