"""What columns do not keep as it is, although the database takes it without an error."""
