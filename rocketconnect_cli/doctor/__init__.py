"""`rocketconnect doctor`: whether this machine can run what `rocketconnect up` starts."""
