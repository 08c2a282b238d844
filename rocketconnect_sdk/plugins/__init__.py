"""Where plugins are found."""
