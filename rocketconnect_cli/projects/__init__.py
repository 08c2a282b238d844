"""Projects of one's own: a connector in a package, with its test."""
