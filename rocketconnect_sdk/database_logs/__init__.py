"""Sources that read the log of a database: first the rows that are there, then each change, in the order of the log.

A connector of this family writes what its database has of its own: how the log is read, how rows are read in a transaction whose
place in the log is known, and how a place becomes integers. The rest is here: the life of a task (`task`), how far the log is done
(`watermarks`), what is configured alike (`capture`), how rows and changes become records (`making`), what is wrong with the tables
(`checks`), and the plugin itself (`source`).

Exactly once: each table has source partitions of its own, and "log" says how far all of them are done. It moves when what was given
before is stored, so a task that is killed reads a part of the log again and gives what it had given, with the same offsets.
"""
