"""What the executor asks fresh host processes: plugins, checks, plans, positions, clean-up."""
