"""A source task: poll, transform, convert, send, commit."""
