"""Java on this machine: where it is, and the jars of what runs in it."""
