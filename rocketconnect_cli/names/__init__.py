"""Names of connectors, topics and plugins, asked for where people give only a part of one, or where only a uid is known."""
