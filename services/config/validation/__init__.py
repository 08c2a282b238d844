"""What executors, and what there is beside it, say of a configuration."""
