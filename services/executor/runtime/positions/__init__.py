"""The position service as a task sees it."""
