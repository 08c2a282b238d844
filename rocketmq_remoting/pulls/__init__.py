"""Messages that are pulled: of one queue after the other, and far ahead of who reads them."""
