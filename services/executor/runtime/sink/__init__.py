"""A sink task: pull, drop duplicates, convert, transform, write, commit."""
