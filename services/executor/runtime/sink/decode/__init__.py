"""Messages become parts of batches: duplicates dropped, bad records apart, values decoded and transformed."""
