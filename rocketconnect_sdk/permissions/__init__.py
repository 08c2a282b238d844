"""What a configuration may do, as the operator of an executor says: files, topics of dead letters, Spark."""
