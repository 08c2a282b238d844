"""What sinks of tables have in common: which batches are there, and what values do to rows."""
