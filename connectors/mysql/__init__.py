"""What MySQL and MariaDB send over a connection of PyMySQL, read in bulk: for connectors of both."""
