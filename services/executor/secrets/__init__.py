"""References to secrets, looked up where the task runs, and hidden in whatever leaves the process."""
