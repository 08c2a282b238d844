"""A module that is imported only when it is needed."""

LATE = "1.0"
