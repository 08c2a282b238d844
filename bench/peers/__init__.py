"""Other systems that do the same work, on the same machine and data."""
