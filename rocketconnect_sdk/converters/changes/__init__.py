"""Changes of rows in the JSON of other tools: read as change envelopes, and written from them."""
