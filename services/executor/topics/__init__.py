"""The topic service: what topics there are, what is in them, and new ones."""
