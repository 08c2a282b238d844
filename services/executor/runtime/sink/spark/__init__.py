"""Writing with Spark: the session, batches on their way to it, its errors."""
