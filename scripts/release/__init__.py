"""What `make release` does."""
