"""What is told of the topic of a source before it runs."""
