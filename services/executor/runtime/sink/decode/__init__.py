"""Messages become parts of batches: doubles dropped, bad records apart, values decoded and transformed."""
