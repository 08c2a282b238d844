"""The messages of pgoutput: bytes in, events out."""
