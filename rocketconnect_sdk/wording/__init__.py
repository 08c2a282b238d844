"""Numbers in the words of messages."""
