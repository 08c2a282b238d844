"""`rocketconnect dlq`: what could not be moved, and moving it again."""
