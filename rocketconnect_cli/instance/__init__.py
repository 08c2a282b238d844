"""Everything on one machine: the processes of `rocketconnect up`."""
