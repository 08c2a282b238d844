"""What a host process is asked before and beside running tasks: each is one question and its answer."""
