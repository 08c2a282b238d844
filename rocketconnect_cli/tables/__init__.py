"""Whether what a sink keeps is what its source has, and what to do about it."""
