"""The command `rocketconnect`: a client of the REST API, and `up`, which runs everything on one machine."""
