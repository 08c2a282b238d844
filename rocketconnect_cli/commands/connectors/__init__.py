"""Commands of `rocketconnect connector ...` that have a file of their own."""
