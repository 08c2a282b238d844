"""The levels of loggers of all processes: asked and set from here."""
