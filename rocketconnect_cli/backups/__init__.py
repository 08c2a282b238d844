"""All stores in one file, and back: `rocketconnect backup` and `rocketconnect restore`."""
