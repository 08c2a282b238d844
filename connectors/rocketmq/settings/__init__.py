"""How topics and consumer groups of another cluster are set, followed here."""
