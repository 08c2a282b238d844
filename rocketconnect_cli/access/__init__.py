"""How the command line is let in by a gateway, and who else is."""
