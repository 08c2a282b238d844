"""Tables of lakes as sources read them: commit by commit, without Spark."""
