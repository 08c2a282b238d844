"""The SQL of a sink: what it makes of a batch is written in its place, with what it keeps from batch to batch."""
