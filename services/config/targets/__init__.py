"""What sinks alone may write, and which other connector writes or wrote there."""
