"""Replays of dead letters: the connectors that send them again, who may end one, and what is told of it."""
