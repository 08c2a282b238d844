"""How content becomes records: what was passed of it, and what is left."""
