"""What sources read, and which other connector reads or read the same into the same topic."""
