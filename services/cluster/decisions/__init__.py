"""Who does what. Pure: events in, effects out."""
