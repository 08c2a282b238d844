"""What targets that keep positions with their data have in common."""
