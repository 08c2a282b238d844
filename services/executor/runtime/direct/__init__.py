"""A direct task: a source and a sink in one, without a topic between them."""
