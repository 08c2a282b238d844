"""SQL over the stream of a sink's records: what a query may be, its options, and the tables that it joins."""
