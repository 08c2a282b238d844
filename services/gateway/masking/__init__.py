"""Fields of records whose values the gateway shows to nobody."""
