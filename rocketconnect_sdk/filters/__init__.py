"""Which messages of its topics a sink reads, where brokers choose them: by tag, or by an expression over their properties."""
