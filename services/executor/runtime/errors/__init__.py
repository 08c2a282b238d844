"""What becomes of errors: of records, of calls, of tasks."""
