"""Dead letters as messages, and what was replayed of them."""
