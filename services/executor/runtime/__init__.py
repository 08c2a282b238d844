"""The data plane: everything that a task does between being started and having ended."""
