"""MongoDB, and what speaks its protocol."""
