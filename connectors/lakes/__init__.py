"""Tables of lakes: what the sinks that write them with Spark have in common."""
