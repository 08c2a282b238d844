"""Who may call, and what: tokens, the roles that they have, and the gate in front of a server's methods."""
