"""CloudEvents: see converter."""
