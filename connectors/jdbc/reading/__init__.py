"""Reading tables: what differs from database to database."""
