"""Plugins as somebody else would write them; each of them says which version it is of."""

__version__ = "1.0"
