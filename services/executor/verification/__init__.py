"""Whether what a sink keeps is what its source has: rows of two tables, compared."""
