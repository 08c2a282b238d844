"""The binary log of MySQL and MariaDB: its events, and the connection that they come over."""
