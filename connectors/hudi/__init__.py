"""What the sink and the source of Hudi have in common."""
