"""Which topics records may go to, where they say it themselves."""
