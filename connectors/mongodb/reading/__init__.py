"""Documents of MongoDB and their changes as records: a snapshot in chunks, then change streams or the oplog."""
