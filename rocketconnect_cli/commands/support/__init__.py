"""Commands for whoever looks for a fault."""
